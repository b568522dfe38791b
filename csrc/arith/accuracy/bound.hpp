// A bound of an entry's error |C - AB| in FP64, rounded up. It is the error of the conversions of the two lines, E 2^-(s+t)
// (certificate.hpp), plus that of the last rounding. The latter is half a unit in the last place to nearest, a whole one in a
// direction.
#pragma once

#include <cstdint>

#include "arith/float_fields.hpp"
#include "arith/host_device.hpp"
#include "arith/modes.hpp"
#include "arith/wide/round_wide.hpp"
#include "arith/wide/wide_int.hpp"

namespace ozfp4 {

// 2^exponent in FP64, that of the smallest subnormal number for less. Precondition: exponent <= 1023.
OZFP4_HD double power_at_least(int exponent) {
  if (exponent >= FloatFormat<double>::min_exponent)
    return float_from_bits<double>(static_cast<std::uint64_t>(exponent - FloatFormat<double>::min_exponent + 1) << 52);
  const int place = exponent - FloatFormat<double>::lowest_exponent;
  return float_from_bits<double>(std::uint64_t(1) << (place > 0 ? place : 0));
}

// The largest error of rounding a real number to `value`; infinity where the number may lie beyond all finite ones.
template <class T>
OZFP4_HD double rounding_bound(T value, Rounding rounding) {
  using Format = FloatFormat<T>;
  const FloatBits<T> magnitude = magnitude_bits(value);
  const bool is_negative = float_bits(value) != magnitude;
  const bool is_inward = rounding == Rounding::zero || rounding == (is_negative ? Rounding::up : Rounding::down);
  if (magnitude >= kInfinityBits<T> || (is_inward && magnitude == kInfinityBits<T> - 1))
    return float_from_bits<double>(kInfinityBits<double>);
  const int field = static_cast<int>(magnitude >> (Format::precision - 1));
  const int last_place = (field > 0 ? field - 1 : 0) + Format::lowest_exponent;
  return power_at_least(last_place - (rounding == Rounding::nearest ? 1 : 0));
}

// x + y, rounded up. Precondition: nonnegative, infinity included.
OZFP4_HD double add_up(double x, double y) {
#if defined(__CUDA_ARCH__)
  return __dadd_ru(x, y);
#else
  const double larger = x > y ? x : y, smaller = x > y ? y : x, sum = larger + smaller;
  return sum - larger < smaller ? float_from_bits<double>(float_bits(sum) + 1) : sum;
#endif
}

// The bound of an entry with an integer that is off by `error` at most and was rounded to `value`. Precondition: error >= 0, the
// entry's exponent -(s + t).
template <class T, int Words>
OZFP4_HD double entry_bound(const WideInt<Words>& error, int exponent, T value, Rounding rounding) {
  return add_up(round_wide<double>(error, exponent, Rounding::up), rounding_bound(value, rounding));
}

}  // namespace ozfp4
