// The facts of a line that the scale stage keeps on a GPU. They are its largest exponent and an upper bound of its sum of
// squares, relative to that exponent, in FP32 with every step rounded up. So  sum x^2 <= sum * 2^(2 exponent)  holds at all
// times.
#pragma once

#include <cmath>
#include <cstdint>

#include "arith/accuracy/line_facts.hpp"
#include "arith/float_fields.hpp"
#include "arith/host_device.hpp"

namespace ozfp4 {

struct LineSum {
  int exponent = kNoExponent;
  float sum = 0.0f;
};

// At least a * b + c. Precondition: nonnegative finite numbers, no overflow.
OZFP4_HD float multiply_add_up(float a, float b, float c) {
#if defined(__CUDA_ARCH__)
  return __fmaf_ru(a, b, c);
#else
  return std::nextafterf(std::fmaf(a, b, c), INFINITY);
#endif
}

// 2^exponent. Precondition: exponent in [-126, 127].
OZFP4_HD float power_of_two(int exponent) { return float_from_bits<float>(static_cast<std::uint32_t>(exponent + 127) << 23); }

// Entries this far below the line's exponent count as if they were this far: 2^-120 of the largest, and still a bound.
inline constexpr int kDeepest = 60;

OZFP4_HD int capped_depth(int depth) { return depth < kDeepest ? depth : kDeepest; }

// Makes the sum relative to a larger exponent; a smaller one changes nothing.
OZFP4_HD void raise_exponent(LineSum& line, int exponent) {
  if (exponent <= line.exponent) return;
  line.sum = multiply_add_up(line.sum, power_of_two(-2 * capped_depth(exponent - line.exponent)), 0.0f);
  line.exponent = exponent;
}

OZFP4_HD LineSum combine(LineSum x, LineSum y) {
  const int exponent = x.exponent > y.exponent ? x.exponent : y.exponent;
  raise_exponent(x, exponent);
  raise_exponent(y, exponent);
  x.sum = multiply_add_up(x.sum, 1.0f, y.sum);
  return x;
}

// Adds one entry. Precondition: x finite and nonzero, subnormal numbers included.
template <class T>
OZFP4_HD void add_entry(LineSum& line, T x) {
  constexpr int fraction_bits = FloatFormat<T>::precision - 1;
  const FloatBits<T> magnitude = magnitude_bits(x);
  const int exponent = exponent_of_magnitude<T>(magnitude);
  raise_exponent(line, exponent);
  constexpr FloatBits<T> implicit = FloatBits<T>(1) << fraction_bits;
  const std::uint64_t significand = magnitude >= implicit ? (magnitude & (implicit - 1)) | implicit : magnitude;
  const int top = highest_bit(significand);
  // The leading 24 bits, rounded up: at most 2^24, exact in FP32.
  const auto leading = static_cast<std::uint32_t>(top >= 23 ? significand >> (top - 23) : significand << (23 - top)) + 1;
  const float y = static_cast<float>(leading) * power_of_two(-23 - capped_depth(line.exponent - exponent));
  line.sum = multiply_add_up(y, y, line.sum);
}

// ---- The fast path: entries by the upper 32 bits of their magnitudes -----------------------------------------------------

template <class T>
struct UpperWord {
  static constexpr int fraction_bits = FloatFormat<T>::precision - 1 > 23 ? FloatFormat<T>::precision - 33 : 23;
  static constexpr int bias = FloatFormat<T>::max_exponent;
  static constexpr std::uint32_t infinity = static_cast<std::uint32_t>(2 * bias + 1) << fraction_bits;
  // From this word on, a zero among the entries (which add_words takes for 2^-bias) adds nothing to speak of.
  static constexpr std::uint32_t smallest = std::uint32_t(24) << fraction_bits;
};

OZFP4_HD std::uint32_t upper_word(double x) { return static_cast<std::uint32_t>(float_bits(x) >> 32) & 0x7FFFFFFFu; }
OZFP4_HD std::uint32_t upper_word(float x) { return float_bits(x) & 0x7FFFFFFFu; }

// Whether add_words is right for a batch with this largest word; else look at every entry (zeros, tiny or non-finite ones).
template <class T>
OZFP4_HD bool is_plain(std::uint32_t largest) {
  return largest >= UpperWord<T>::smallest && largest < UpperWord<T>::infinity;
}

// Adds a batch of entries, given their words and the largest of them. Precondition: is_plain(largest).
//
// The word of a normal number is field * 2^f + (the upper f bits of the fraction). One more in the last place bounds the
// magnitude from above (FP32 words are whole and need it not). Subtracting the line's field moves the exponent, so with 23 - f
// zero bits appended and the bias of FP32 added the word is the FP32 number y >= |x| 2^-exponent. A subnormal number or zero, g
// 2^-1022 with fraction g < 1, is taken for (1 + g) 2^-1023, which is no smaller.
template <class T, int N>
OZFP4_HD void add_words(LineSum& line, const std::uint32_t (&word)[N], std::uint32_t largest) {
  using Word = UpperWord<T>;
  raise_exponent(line, static_cast<int>(largest >> Word::fraction_bits) - Word::bias);
  const int base = (line.exponent + Word::bias) << Word::fraction_bits;
  constexpr int deepest = -(kDeepest << Word::fraction_bits);
  constexpr std::uint32_t one = (std::uint32_t(127) << 23) + (Word::fraction_bits < 23 ? 1u << (23 - Word::fraction_bits) : 0u);
  for (int i = 0; i < N; ++i) {
    const int relative = static_cast<int>(word[i]) - base;
    const auto clamped = static_cast<std::uint32_t>(relative > deepest ? relative : deepest);
    const float y = float_from_bits<float>((clamped << (23 - Word::fraction_bits)) + one);
    line.sum = multiply_add_up(y, y, line.sum);
  }
}

// The sum of a line for norm_squared_bound of another capacity, `reference`: with it that bounds the line's integers, which have
// `capacity` bits. It is infinite where it is too large for FP32. Precondition: capacity - reference in [-60, 60].
OZFP4_HD float sum_at_capacity(float sum, int capacity, int reference) {
  return multiply_add_up(sum, power_of_two(2 * (capacity - reference)), 0.0f);
}

}  // namespace ozfp4
