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
                               std::int64_t* certain) {
  const bool is_nearest = rounding == Rounding::nearest, is_zero = rounding == Rounding::zero;
  for (int i = 0; i < n; ++i) {
    std::uint64_t own[Words];
    for (int k = 0; k < Words; ++k) own[k] = column[k][i];
    bool is_uncertain = false;
    const SumOfPieces x = sum_of_pieces(wide_resize<5>(crt_without_correction(own, product, is_uncertain)));
    const double r = x.sum + x.rest, t = x.rest - (r - x.sum), size = std::fabs(t);
    const double margin = error[i] * (1.0 + 0x1p-20) + std::fabs(x.rest) * 0x1p-48;
    const bool is_near = r + (t + margin) == r && r + (t - margin) == r;
    const bool is_exact = is_nearest && error[i] == 0.0;
    const bool is_sided = is_nearest || size > margin;
    // One place towards zero or away from it; exponents are so far from the ends that neither leaves the normal numbers.
    const std::uint64_t bits = float_bits(r);
    const bool is_negative = bits >> 63 != 0, is_below = t < 0.0;
    const bool goes_down = rounding == Rounding::down || (is_zero && !is_negative);
    const bool is_moved = !is_nearest && goes_down == is_below;
    const std::uint64_t step = is_negative == goes_down ? 1 : ~std::uint64_t(0);
    const double moved = float_from_bits<double>(is_moved ? bits + step : bits);
    const bool is_out = exponent[i] <= kLeastPieceExponent || exponent[i] > kMostPieceExponent;
    const std::int32_t own_exponent = is_out ? 0 : exponent[i];
    result[i] = moved * exact_power_of_two<double>(own_exponent);
    certain[i] = static_cast<std::int64_t>(!is_uncertain && !is_out && (is_exact || (is_near && is_sided)));
  }
}

}  // namespace

OZFP4_VECTORISED void round_certain(const Columns<5>& column, int n, const CrtProduct<5>& product, const std::int32_t* exponent,
                                    const double* error, Rounding rounding, double* result, std::int64_t* certain) {
  round_certain_impl(column, n, product, exponent, error, rounding, result, certain);
}
OZFP4_VECTORISED void round_certain(const Columns<6>& column, int n, const CrtProduct<6>& product, const std::int32_t* exponent,
                                    const double* error, Rounding rounding, double* result, std::int64_t* certain) {
  round_certain_impl(column, n, product, exponent, error, rounding, result, certain);
}

}  // namespace ozfp4
