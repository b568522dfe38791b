// round_scaled for the common case, a result that is zero or a normal number: conversion instructions do the rounding.
//
// The integer is shifted left, by words and then by bits. Its leading bit, the highest that differs from the sign, is then bit 62
// or 61 of a 64-bit window. All bits below the window are or-ed into the window's last bit. That is rounding to odd, which is
// symmetric: of the two neighbours of a number between two integers the odd one is taken, in two's complement as well. The window
// has at least 62 significant bits, more than the 53 + 2 that make the second rounding, to nearest even, the right one.
#pragma once

#include <cstdint>

#include "arith/float_fields.hpp"
#include "arith/host_device.hpp"
#include "arith/wide/wide_int.hpp"

namespace ozfp4 {

// The distance of the leading bit from bit 31; 2^32 - 1 for 0 and -1, which have none.
OZFP4_HD std::uint32_t leading_shift(std::uint32_t x) {
#if defined(__CUDA_ARCH__)
  std::uint32_t shift;
  asm("bfind.shiftamt.s32 %0, %1;" : "=r"(shift) : "r"(x));
  return shift;
#else
  const std::uint32_t magnitude = x ^ static_cast<std::uint32_t>(static_cast<std::int32_t>(x) >> 31);
  return magnitude == 0 ? 0xffffffffu : static_cast<std::uint32_t>(__builtin_clz(magnitude));
#endif
}

// The upper word of (high, low) << (shift mod 32).
OZFP4_HD std::uint32_t funnel_left(std::uint32_t low, std::uint32_t high, std::uint32_t shift) {
#if defined(__CUDA_ARCH__)
  return __funnelshift_l(low, high, shift);
#else
  const std::uint64_t both = (static_cast<std::uint64_t>(high) << 32) | low;
  return static_cast<std::uint32_t>((both << (shift & 31u)) >> 32);
#endif
}

// Whether the uppermost word only repeats the sign of the words below it.
template <int Words>
OZFP4_HD bool has_redundant_word(const WideInt<Words>& x) {
  return x.word[Words - 1] == static_cast<std::uint32_t>(static_cast<std::int32_t>(x.word[Words - 2]) >> 31);
}

// Shifts left by words until the uppermost is not redundant or the value is 0; returns by how many bits.
template <int Words>
OZFP4_HD std::int32_t drop_redundant_words(WideInt<Words>& x) {
  static_assert(Words == 4 || Words == 6, "the steps below reach every word of 4 or 6");
  std::int32_t moved = 0;
  for (int step = Words > 4 ? 4 : 2; step > 0; step /= 2) {
    const auto sign = static_cast<std::uint32_t>(static_cast<std::int32_t>(x.word[Words - 1 - step]) >> 31);
    bool is_redundant = true;
    for (int i = 0; i < step; ++i) is_redundant = is_redundant && x.word[Words - 1 - i] == sign;
    for (int i = Words - 1; i >= 0; --i) {
      const std::uint32_t from_below = i >= step ? x.word[i - step] : 0u;
      x.word[i] = is_redundant ? from_below : x.word[i];
    }
    moved += is_redundant ? 32 * step : 0;
  }
  return moved;
}

// x * factor + y in one instruction: left alone, the compiler moves the multiplication before a selection of x.
OZFP4_HD std::uint32_t multiply_add(std::uint32_t x, std::uint32_t factor, std::uint32_t y) {
#if defined(__CUDA_ARCH__)
  std::uint32_t sum;
  asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(sum) : "r"(x), "r"(factor), "r"(y));
  return sum;
#else
  return x * factor + y;
#endif
}

// bits * 2^step by way of the exponent field.
OZFP4_HD std::uint64_t add_to_exponent(std::uint64_t bits, std::int32_t step) {
  const std::uint32_t high = multiply_add(static_cast<std::uint32_t>(step), 1u << 20, static_cast<std::uint32_t>(bits >> 32));
  return (static_cast<std::uint64_t>(high) << 32) | static_cast<std::uint32_t>(bits);
}
OZFP4_HD std::uint32_t add_to_exponent(std::uint32_t bits, std::int32_t step) {
  return multiply_add(static_cast<std::uint32_t>(step), 1u << 23, bits);
}

// value * 2^exponent, rounded once. With `is_rare` set the result is meaningless and round_scaled has to be asked: it may be
// subnormal or overflow. Precondition: |exponent| < 2^20; for Words > 2 the uppermost word is not redundant, unless value = 0.
template <class T, int Words>
OZFP4_HD T round_leading(const WideInt<Words>& value, std::int32_t exponent, bool& is_rare) {
  using Format = FloatFormat<T>;
  constexpr int fraction_bits = Format::precision - 1;
  constexpr std::int32_t bias = 1 - Format::min_exponent;
  constexpr std::int32_t highest_field = bias + Format::max_exponent;  // of normal numbers; the lowest is 1

  if constexpr (Words == 2) {
    // 64 bits convert as they are.
    const auto whole = static_cast<std::int64_t>((static_cast<std::uint64_t>(value.word[1]) << 32) | value.word[0]);
    const FloatBits<T> bits = float_bits(static_cast<T>(whole));
    const std::int32_t field = static_cast<std::int32_t>(bits >> fraction_bits) & (2 * bias + 1);
    is_rare = whole != 0 && static_cast<std::uint32_t>(field + exponent - 1) >= static_cast<std::uint32_t>(highest_field);
    return float_from_bits<T>(add_to_exponent(bits, whole != 0 ? exponent : 0));
  } else {
    // A leading_shift of 2^32 - 1 means that the bit below the word leads: shifted by 30 it comes to bit 61.
    const std::uint32_t high = value.word[Words - 1], middle = value.word[Words - 2], low = value.word[Words - 3];
    const std::uint32_t shift = (leading_shift(high) - 1u) & 31u;
    std::uint32_t rest = low << shift;
    for (int i = 0; i < Words - 3; ++i) rest |= value.word[i];
    const std::uint32_t window_high = funnel_left(middle, high, shift);
    const std::uint32_t window_low = funnel_left(low, middle, shift) | (rest != 0 ? 1u : 0u);
    const auto window = static_cast<std::int64_t>((static_cast<std::uint64_t>(window_high) << 32) | window_low);

    // |window| is 0 or in [2^61, 2^63], so its exponent field lies in [bias + 61, bias + 63].
    const std::int32_t scale = exponent + 32 * (Words - 2) - static_cast<std::int32_t>(shift);
    constexpr std::int32_t least = 1 - (bias + 61), most = highest_field - (bias + 63);
    is_rare = window_high != 0 && static_cast<std::uint32_t>(scale - least) > static_cast<std::uint32_t>(most - least);
    const FloatBits<T> bits = float_bits(static_cast<T>(window));
    return float_from_bits<T>(add_to_exponent(bits, window_high != 0 ? scale : 0));
  }
}

// The same for any value.
template <class T, int Words>
OZFP4_HD T round_fast(WideInt<Words> value, std::int32_t exponent, bool& is_rare) {
  if constexpr (Words > 2) exponent -= drop_redundant_words(value);
  return round_leading<T>(value, exponent, is_rare);
}

// Exponents for which no value of so many words is rare: it is 0 or its magnitude lies in [1, 2^(32 Words - 1)].
template <class T, int Words>
inline constexpr std::int32_t kLeastSafeExponent = FloatFormat<T>::min_exponent + 1;
template <class T, int Words>
inline constexpr std::int32_t kMostSafeExponent = FloatFormat<T>::max_exponent - 32 * Words - 1;

}  // namespace ozfp4
