#include "cpu/crt/number_lanes.hpp"

#include <stdexcept>

#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

template <int N>
inline void lanes_impl(const NumberCrt& constants, const std::uint32_t* residues, std::int64_t pitch, int n, LaneNumbers& lanes) {
  const NumberCrt own = constants;  // which no result overwrites
  for (int i = 0; i < n; ++i) {
    double residue[N];
    // Below 2^31: vectors have conversions of signed numbers.
    for (int g = 0; g < N; ++g) residue[g] = static_cast<double>(static_cast<std::int32_t>(residues[g * pitch + i]));
    bool is_uncertain = false;
    const ThreePieces pieces = crt_in_numbers(residue, own, is_uncertain);
    lanes.high[i] = pieces.high;
    lanes.middle[i] = pieces.middle;
    lanes.low[i] = pieces.low;
    lanes.refused[i] = static_cast<std::int64_t>(is_uncertain);
  }
}

// A function per count, because GCC clones functions but not templates.
#define OZFP4_NUMBER_LANES(N)                                                                                                 \
  OZFP4_VECTORISED void number_lanes##N(const NumberCrt& constants, const std::uint32_t* residues, std::int64_t pitch, int n, \
                                        LaneNumbers& lanes) {                                                                 \
    lanes_impl<N>(constants, residues, pitch, n, lanes);                                                                      \
  }
OZFP4_NUMBER_LANES(2)
OZFP4_NUMBER_LANES(3)
OZFP4_NUMBER_LANES(4)
OZFP4_NUMBER_LANES(5)
OZFP4_NUMBER_LANES(6)
#undef OZFP4_NUMBER_LANES

template <class T>
inline bool round_impl(const LaneNumbers& lanes, int n, const std::int32_t* exponent, T* result) {
  std::int64_t refused = 0;  // as wide as what the loop computes, so that it vectorises
  for (int i = 0; i < n; ++i) {
    const std::int64_t own = exponent[i];
    std::int64_t is_small = 0;
    result[i] = round_pieces<T>(ThreePieces{lanes.low[i], lanes.middle[i], lanes.high[i]}, exponent[i], is_small);
    refused |= lanes.refused[i] | is_small | static_cast<std::int64_t>(own < kLeastPieceExponent) |
               static_cast<std::int64_t>(own > kMostPieceExponent);
  }
  return refused == 0;
}

}  // namespace

void number_lanes(const NumberCrt& constants, const std::uint32_t* residues, std::int64_t pitch, int n, LaneNumbers& lanes) {
  switch (constants.count) {
    case 2: return number_lanes2(constants, residues, pitch, n, lanes);
    case 3: return number_lanes3(constants, residues, pitch, n, lanes);
    case 4: return number_lanes4(constants, residues, pitch, n, lanes);
    case 5: return number_lanes5(constants, residues, pitch, n, lanes);
    case 6: return number_lanes6(constants, residues, pitch, n, lanes);
    default: throw std::logic_error("number_lanes: constants that serve nobody");
  }
}

OZFP4_VECTORISED bool round_numbers(const LaneNumbers& lanes, int n, const std::int32_t* exponent, double* result) {
  return round_impl(lanes, n, exponent, result);
}
OZFP4_VECTORISED bool round_numbers(const LaneNumbers& lanes, int n, const std::int32_t* exponent, float* result) {
  return round_impl(lanes, n, exponent, result);
}

}  // namespace ozfp4
