#include "cpu/words/sums.hpp"

#include "arith/scale_entry.hpp"
#include "arith/wide/round_pieces.hpp"
#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

// Exponents for which value * 2^exponent is 0 or a normal number for every |value| < 2^(kMostNearBits + 1), and so are its
// neighbours.
constexpr std::int32_t kLeastExponent = -1020, kMostExponent = 1023 - kMostNearBits - 2;

bool is_outside(std::int32_t exponent) { return exponent < kLeastExponent || exponent > kMostExponent; }

inline void put(const SumParts& own, int i, LaneParts& parts) {
  parts.room[0][i] = own.top, parts.room[1][i] = own.middle, parts.room[2][i] = own.low;
}

template <int Bridges>
inline void join_impl(const NearSums& sums, int n, LaneParts& parts) {
  for (int i = 0; i < n; ++i) {
    double residue[kMostBridges] = {};
    for (int b = 0; b < Bridges; ++b) residue[b] = sums.residue[b][i];
    put(join_near_sum<Bridges>(sums.word[i], sums.near[i], residue), i, parts);
  }
}

inline SumOfPieces pieces_of(const LaneParts& parts, int i) {
  return sum_of_parts({parts.top[i], parts.middle[i], parts.low[i]});
}

OZFP4_VECTORISED void join_0(const NearSums& sums, int n, LaneParts& parts) { join_impl<0>(sums, n, parts); }
OZFP4_VECTORISED void join_1(const NearSums& sums, int n, LaneParts& parts) { join_impl<1>(sums, n, parts); }
OZFP4_VECTORISED void join_2(const NearSums& sums, int n, LaneParts& parts) { join_impl<2>(sums, n, parts); }
OZFP4_VECTORISED void join_wide(const NearSums& sums, int n, LaneParts& parts) {
  for (int i = 0; i < n; ++i) put(join_wide_sum(sums.word[i], sums.near[i], sums.wide[i]), i, parts);
}

}  // namespace

void join_lanes(const NearSums& sums, Bridging bridging, int n, LaneParts& parts) {
  switch (bridging) {
    case Bridging::none: return join_0(sums, n, parts);
    case Bridging::one: return join_1(sums, n, parts);
    case Bridging::wide: return join_wide(sums, n, parts);
    case Bridging::two: return join_2(sums, n, parts);
  }
}

OZFP4_VECTORISED void round_lanes(const LaneParts& parts, int n, const std::int32_t* exponent, double* result,
                                  std::int64_t* refused) {
  for (int i = 0; i < n; ++i) {
    const SumOfPieces x = pieces_of(parts, i);
    refused[i] = is_outside(exponent[i]) ? 1 : 0;
    result[i] = (x.sum + x.rest) * exact_power_of_two<double>(exponent[i]);
  }
}

OZFP4_VECTORISED void round_lanes(const LaneParts& parts, int n, const std::int32_t* exponent, float* result,
                                  std::int64_t* refused) {
  for (int i = 0; i < n; ++i) {
    std::int64_t own_refused = 0;
    result[i] = round_single(pieces_of(parts, i), exponent[i], own_refused);
    refused[i] = own_refused | static_cast<std::int64_t>(is_outside(exponent[i]));
  }
}

}  // namespace ozfp4
