// The one rounding of the whole computation: integer * 2^exponent to FP64 or FP32, to nearest, ties to even,
// with subnormal results and overflow to infinity; an exact zero is +0.
#pragma once

#include <cstdint>

#include "arith/float_fields.hpp"
#include "arith/host_device.hpp"
#include "arith/wide/wide_int.hpp"

namespace ozfp4 {

// Range: any value, |exponent| < 2^29. Free of branches, so that loops over entries vectorise.
template <class T, int Words>
OZFP4_HD T round_scaled(const WideInt<Words>& value, int exponent) {
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
  const bool up = rest > half || (rest == half && (lost != 0 || (kept & 1) != 0));
  kept += up ? 1 : 0;
  // The kept bits carry the implicit one, so adding them to the exponent field less one is right for normal numbers,
  // and a carry out of the rounding moves to the next exponent, the smallest normal number or infinity by itself.
  const std::int64_t field = below_normal > 0 ? 0 : top - Format::min_exponent;
  FloatBits<T> bits = (static_cast<FloatBits<T>>(field) << (Format::precision - 1)) + static_cast<FloatBits<T>>(kept);
  bits = top > Format::max_exponent ? kInfinityBits<T> : bits;
  bits = wanted < 0 ? 0 : bits;  // below half of the smallest subnormal number
  bits |= static_cast<FloatBits<T>>(sign & 1u) << (8 * sizeof(T) - 1);
  bits = length == 0 ? 0 : bits;
  return float_from_bits<T>(bits);
}

}  // namespace ozfp4
