#include "cpu/crt/number_crt.hpp"

#include <stdexcept>

#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

template <int N>
inline void lanes_impl(const NumberCrt& constants, const std::uint32_t* residues, std::int64_t pitch, int n, LanePairs& pairs) {
  const NumberCrt own = constants;  // which no result overwrites
  put_pairs(n, pairs, [&](int i, std::int64_t& refused) {
    double residue[N];
    // Below 2^31: vectors have conversions of signed numbers.
    for (int g = 0; g < N; ++g) residue[g] = static_cast<double>(static_cast<std::int32_t>(residues[g * pitch + i]));
    bool is_uncertain = false;
    const SumParts parts = crt_in_numbers(residue, own, is_uncertain);
    refused = static_cast<std::int64_t>(is_uncertain);
    return parts;
  });
}

// A function per count, because GCC clones functions but not templates.
#define OZFP4_NUMBER_LANES(N)                                                                                                 \
  OZFP4_VECTORISED void number_lanes##N(const NumberCrt& constants, const std::uint32_t* residues, std::int64_t pitch, int n, \
                                        LanePairs& pairs) {                                                                   \
    lanes_impl<N>(constants, residues, pitch, n, pairs);                                                                      \
  }
OZFP4_NUMBER_LANES(2)
OZFP4_NUMBER_LANES(3)
OZFP4_NUMBER_LANES(4)
OZFP4_NUMBER_LANES(5)
OZFP4_NUMBER_LANES(6)
#undef OZFP4_NUMBER_LANES

}  // namespace

void number_lanes(const NumberCrt& constants, const std::uint32_t* residues, std::int64_t pitch, int n, LanePairs& pairs) {
  switch (constants.count) {
    case 2: return number_lanes2(constants, residues, pitch, n, pairs);
    case 3: return number_lanes3(constants, residues, pitch, n, pairs);
    case 4: return number_lanes4(constants, residues, pitch, n, pairs);
    case 5: return number_lanes5(constants, residues, pitch, n, pairs);
    case 6: return number_lanes6(constants, residues, pitch, n, pairs);
    default: throw std::logic_error("number_lanes: constants that serve nobody");
  }
}

}  // namespace ozfp4
