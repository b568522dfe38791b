// Whether an approximate sum and its bound decide the rounded result (Ziv's test), in integers: in every direction, with
// subnormal results and overflow.
#pragma once

#include <cstdint>

#include "arith/exact/double_dot.hpp"
#include "arith/float_fields.hpp"
#include "arith/host_device.hpp"
#include "arith/modes.hpp"
#include "arith/wide/round_wide.hpp"
#include "arith/wide/wide_int.hpp"

namespace ozfp4 {

// (x + y) 2^exponent, rounded once. Precondition: x and y finite, |exponent| < 2^28.
//
// Let 2^w be the weight of the last bit of the number of larger weight. The other one, where it does not reach 2^(w - 64), is
// below 2^(w - 12) and may be replaced by +-2^(w - 64). For the leading number has 53 bits then, so that near it both every
// result and every tie are multiples of 2^(w - 2).
template <class T>
OZFP4_HD T round_pair(double x, double y, int exponent, Rounding rounding) {
  FloatParts upper = float_parts(x), lower = float_parts(y);
  if (upper.weight < lower.weight) {
    const FloatParts kept = upper;
    upper = lower;
    lower = kept;
  }
  const bool is_far = upper.weight - lower.weight > 64;
  const int places = is_far ? 64 : upper.weight - lower.weight;
  const std::uint64_t low = places < 64 ? upper.significand << places : 0;
  const std::uint64_t high = places > 0 ? upper.significand >> (64 - places) : 0;
  WideInt<4> sum = {{static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32), static_cast<std::uint32_t>(high),
                     static_cast<std::uint32_t>(high >> 32)}};
  if (upper.is_negative) sum = wide_negate(sum);
  const auto rest = static_cast<std::int64_t>(is_far && lower.significand != 0 ? 1 : lower.significand);
  sum = wide_add(sum, wide_from<4>(lower.is_negative ? -rest : rest));
  return round_wide<T>(sum, upper.weight - places + exponent, rounding);
}

// The next number towards +infinity and -infinity. Precondition: x finite, not the largest.
OZFP4_HD double next_up(double x) {
  const std::uint64_t bits = float_bits(x);
  if (magnitude_bits(x) == 0) return float_from_bits<double>(1);
  return float_from_bits<double>(bits >> 63 ? bits - 1 : bits + 1);
}
OZFP4_HD double next_down(double x) { return -next_up(-x); }

// Whether every number within `bound` of high + low, times 2^exponent, rounds to the same bits; they are put in `result`, which
// is meaningless otherwise. Exponent: minus the sum of the dot_shift of the two lines. Precondition: dot and bound of
// double_dot.hpp.
template <class T>
OZFP4_HD bool settle(const DoubleDot& dot, double bound, int exponent, Rounding rounding, T& result) {
  // Two numbers again, the second small: so that only it is moved by the bound.
  const double sum = dot_plus(dot.high, dot.low);
  const double rest = error_of_sum(dot.high, dot.low, sum);
  const bool is_exact = bound == 0.0;
  const double least = is_exact ? rest : next_down(dot_plus(rest, -bound));
  const double most = is_exact ? rest : next_up(dot_plus(rest, bound));
  result = round_pair<T>(sum, least, exponent, rounding);
  return is_exact || float_bits(result) == float_bits(round_pair<T>(sum, most, exponent, rounding));
}

// Where no product is negative the sum is not. If its interval reaches below 0, it becomes [0, 2 half], with half at least the
// sum. settle adds one unit to the bound, so that it then begins at 0 exactly. Sums that decay below the least number are +0.
OZFP4_HD bool reaches_below_zero(const DoubleDot& dot, double bound) { return fabs(dot.high) < bound; }
OZFP4_HD void clamp_at_zero(DoubleDot& dot, double& bound) {
  const double half = next_up(next_up(dot_plus(dot_plus(fabs(dot.high), fabs(dot.low)), bound)));
  dot = {half, 0.0, 0.0};
  bound = next_down(half);  // which settle makes good
}

}  // namespace ozfp4
