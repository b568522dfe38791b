// The one rounding of the whole computation: integer * 2^exponent to FP64 or FP32, with subnormal results and overflow as in IEEE
// 754. It is to nearest, ties to even, or in a given direction.
#pragma once

#include <cstdint>

#include "arith/float_fields.hpp"
#include "arith/host_device.hpp"
#include "arith/modes.hpp"
#include "arith/wide/wide_int.hpp"

namespace ozfp4 {

// Precondition: any value, |exponent| < 2^29; where AlwaysNearest, `rounding` is not asked. Free of branches, so that loops over
// entries vectorise.
template <class T, bool AlwaysNearest, int Words>
OZFP4_HD T round_by(const WideInt<Words>& value, int exponent, Rounding rounding) {
  using Format = FloatFormat<T>;
  const std::uint32_t sign = wide_sign_mask(value);
  const WideInt<Words> magnitude = wide_magnitude(value, sign);
  const std::int64_t length = wide_bit_length(magnitude);  // shift counts are as wide as what they shift: so it vectorises

  // The leading 64 bits, and whatever is set below them. A word lands `position` bits above the lowest leading bit.
  std::uint64_t leading = 0, lost = 0;
  for (int i = 0; i < Words; ++i) {
    const std::uint64_t word = magnitude.word[i];
    const std::int64_t position = 32 * i - (length - 64);
    const std::int64_t left = position < 0 ? 0 : position > 63 ? 63 : position;  // above 63 only for words of zero
    const std::int64_t right = position >= 0 ? 0 : position < -32 ? 32 : -position;
    leading |= (word << left) >> right;
    lost |= word ^ ((word >> right) << right);
  }

  const std::int64_t top = length - 1 + exponent;  // exponent of the leading bit
  const std::int64_t below_normal = top < Format::min_exponent ? Format::min_exponent - top : 0;
  const std::int64_t wanted = Format::precision - below_normal;
  const std::int64_t keep = wanted > 0 ? wanted : 0;

  // Keep the upper `keep` bits of the leading ones (in two shifts, because keep may be 0); the others decide the rounding.
  std::uint64_t kept = (leading >> (63 - keep)) >> 1;
  const std::uint64_t rest = leading << keep;
  constexpr std::uint64_t half = std::uint64_t(1) << 63;
  const bool is_nearest = AlwaysNearest || rounding == Rounding::nearest;
  const bool is_away = !AlwaysNearest && rounding == (sign != 0 ? Rounding::down : Rounding::up);
  const bool is_above_tie = rest > half || (rest == half && (lost != 0 || (kept & 1) != 0));
  const bool is_more = is_nearest ? is_above_tie : is_away && (rest | lost) != 0;
  kept += is_more ? 1 : 0;
  // The kept bits carry the implicit one, so adding them to the exponent field less one is right for normal numbers. A carry out
  // of the rounding moves to the next exponent, the smallest normal number or infinity by itself.
  const std::int64_t field = below_normal > 0 ? 0 : top - Format::min_exponent;
  FloatBits<T> bits = (static_cast<FloatBits<T>>(field) << (Format::precision - 1)) + static_cast<FloatBits<T>>(kept);
  bits = top > Format::max_exponent ? kInfinityBits<T> - (is_nearest || is_away ? 0 : 1) : bits;
  bits = is_nearest && wanted < 0 ? 0 : bits;  // below half of the smallest subnormal number
  bits |= static_cast<FloatBits<T>>(sign & 1u) << (8 * sizeof(T) - 1);
  const bool is_negative_zero = !AlwaysNearest && rounding == Rounding::down;
  bits = length == 0 ? static_cast<FloatBits<T>>(is_negative_zero) << (8 * sizeof(T) - 1) : bits;
  return float_from_bits<T>(bits);
}

// value * 2^exponent to nearest, ties to even; an exact zero is +0. Precondition: any value, |exponent| < 2^29.
template <class T, int Words>
OZFP4_HD T round_scaled(const WideInt<Words>& value, int exponent) {
  return round_by<T, true>(value, exponent, Rounding::nearest);
}

// The same in the given direction. A finite number beyond the largest one becomes that or infinity, one below the smallest that
// or zero, by the direction. An exact zero is +0, and -0 when rounding down. Precondition: any value, |exponent| < 2^29.
template <class T, int Words>
OZFP4_HD T round_wide(const WideInt<Words>& value, int exponent, Rounding rounding) {
  return round_by<T, false>(value, exponent, rounding);
}

}  // namespace ozfp4
