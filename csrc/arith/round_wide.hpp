// The one rounding of the whole computation: integer * 2^exponent to FP64 or FP32, to nearest, ties to even,
// with subnormal results and overflow to infinity; an exact zero is +0.
#pragma once

#include <cstdint>

#include "arith/float_fields.hpp"
#include "arith/host_device.hpp"
#include "arith/wide_int.hpp"

namespace ozfp4 {

// Range: any value, |exponent| < 2^29.
template <class T, int Words>
OZFP4_HD T round_scaled(const WideInt<Words>& value, int exponent) {
  using Format = FloatFormat<T>;
  const bool negative = wide_is_negative(value);
  const WideInt<Words> magnitude = negative ? wide_negate(value) : value;
  const int length = wide_bit_length(magnitude);
  if (length == 0) return T(0);

  // The leading 64 bits, and whether anything is set below them.
  std::uint64_t leading = 0;
  bool sticky = false;
  const int cut = length - 64;  // position of the lowest bit that `leading` holds
  for (int i = 0; i < Words; ++i) {
    const std::uint64_t word = magnitude.word[i];
    const int position = 32 * i - cut;  // where the word's lowest bit lands in `leading`
    if (position >= 0) {
      if (position < 64) leading |= word << position;
    } else if (position > -32) {
      leading |= word >> -position;
      sticky = sticky || (word & ((std::uint64_t(1) << -position) - 1)) != 0;
    } else {
      sticky = sticky || word != 0;
    }
  }

  const int top = length - 1 + exponent;  // exponent of the leading bit
  const FloatBits<T> sign = static_cast<FloatBits<T>>(negative) << (8 * sizeof(T) - 1);
  if (top > Format::max_exponent) return float_from_bits<T>(sign | kInfinityBits<T>);
  const int below_normal = top < Format::min_exponent ? Format::min_exponent - top : 0;
  const int keep = Format::precision - below_normal;
  if (keep < 0) return float_from_bits<T>(sign);  // below half of the smallest subnormal number

  const int drop = 64 - keep;  // 11 .. 64
  std::uint64_t kept = drop < 64 ? leading >> drop : 0;
  const std::uint64_t half = std::uint64_t(1) << (drop - 1);
  const std::uint64_t rest = drop < 64 ? leading & ((half << 1) - 1) : leading;
  if (rest > half || (rest == half && (sticky || (kept & 1)))) ++kept;
  // The kept bits carry the implicit one, so adding them to the exponent field less one is right for normal numbers,
  // and a carry out of the rounding moves to the next exponent, the smallest normal number or infinity by itself.
  const int field = below_normal > 0 ? 0 : top - Format::min_exponent;
  const FloatBits<T> bits =
      (static_cast<FloatBits<T>>(field) << (Format::precision - 1)) + static_cast<FloatBits<T>>(kept);
  return float_from_bits<T>(sign | bits);
}

}  // namespace ozfp4
