// With x = sum + rest and r = fl(x), t = rest - (r - sum) is the distance of x from r, exactly but for what rest is off by, at
// most |rest| 2^-52, and |t| <= 2 |rest|. So x and all numbers within `error` of it lie in r + [t - m, t + m] with
// m >= error + |rest| 2^-48, which has room for the rounding of t +- m. Where fl(r + (t - m)) = fl(r + (t + m)) = r, they all
// round to r to nearest, so that none reaches r's neighbours, and |t| > m says on which side of r they lie.
#include "cpu/accuracy/round_certain.hpp"

#include <cmath>

#include "arith/float_fields.hpp"
#include "arith/scale_entry.hpp"
#include "arith/wide/round_pieces.hpp"
#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

template <int Words>
inline void round_certain_impl(const Columns<Words>& column, int n, const CrtProduct<Words>& product,
                               const std::int32_t* exponent, const double* error, Rounding rounding, double* result,
                               std::int64_t* refused) {
  const std::int64_t is_directed = rounding != Rounding::nearest;
  const std::int64_t is_down = rounding == Rounding::down, is_zero = rounding == Rounding::zero;
  const double no_side = is_directed != 0 ? 0.0 : -1.0, least_slack = is_directed != 0 ? 0x1p-48 : 0.0;
  for (int i = 0; i < n; ++i) {
    std::uint64_t own[Words];
    for (int k = 0; k < Words; ++k) own[k] = column[k][i];
    bool is_uncertain = false;
    const SumOfPieces x = sum_of_pieces(wide_resize<5>(crt_without_correction(own, product, is_uncertain)));
    const double r = x.sum + x.rest, t = x.rest - (r - x.sum);
    const double slack = error[i] != 0.0 ? 0x1p-48 : least_slack;
    const double margin = error[i] * (1.0 + 0x1p-20) + std::fabs(x.rest) * slack;
    const double low = r + (t - margin), high = r + (t + margin);
    const double side = is_directed != 0 ? margin : no_side;
    const bool is_out = exponent[i] <= kLeastPieceExponent || exponent[i] > kMostPieceExponent;
    refused[i] = static_cast<std::int64_t>(is_uncertain) | static_cast<std::int64_t>(is_out) |
                 static_cast<std::int64_t>(low != high) | static_cast<std::int64_t>(std::fabs(t) <= side);
    // One place towards zero or away from it; exponents are so far from the ends that neither leaves the normal numbers.
    const std::uint64_t bits = float_bits(r);
    const auto is_negative = static_cast<std::int64_t>(bits >> 63);
    const std::int64_t goes_down = is_down | (is_zero & (is_negative ^ 1));
    const auto is_below = static_cast<std::int64_t>(float_bits(t) >> 63);
    const std::int64_t is_moved = is_directed & (goes_down ^ is_below ^ 1);
    const std::int64_t step = is_moved - 2 * (is_moved & (is_negative ^ goes_down));
    const double moved = float_from_bits<double>(bits + static_cast<std::uint64_t>(step));
    result[i] = moved * exact_power_of_two<double>(exponent[i]);
  }
}

}  // namespace

OZFP4_VECTORISED void round_certain(const Columns<5>& column, int n, const CrtProduct<5>& product, const std::int32_t* exponent,
                                    const double* error, Rounding rounding, double* result, std::int64_t* refused) {
  round_certain_impl(column, n, product, exponent, error, rounding, result, refused);
}
OZFP4_VECTORISED void round_certain(const Columns<6>& column, int n, const CrtProduct<6>& product, const std::int32_t* exponent,
                                    const double* error, Rounding rounding, double* result, std::int64_t* refused) {
  round_certain_impl(column, n, product, exponent, error, rounding, result, refused);
}

}  // namespace ozfp4
