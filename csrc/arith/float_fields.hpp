// The bit fields of FP64 and FP32, their tests for the scale stage, and a number as an integer times a power of two.
#pragma once

#include <cstdint>
#include <cstring>

#include "arith/host_device.hpp"

namespace ozfp4 {

template <class T>
struct FloatFormat;

template <>
struct FloatFormat<double> {
  using Bits = std::uint64_t;
  static constexpr int precision = 53;           // bits of the significand, the leading one included
  static constexpr int max_exponent = 1023;      // of the largest finite number's leading bit
  static constexpr int min_exponent = -1022;     // of the smallest normal number
  static constexpr int lowest_exponent = -1074;  // of the smallest subnormal number
};

template <>
struct FloatFormat<float> {
  using Bits = std::uint32_t;
  static constexpr int precision = 24;
  static constexpr int max_exponent = 127;
  static constexpr int min_exponent = -126;
  static constexpr int lowest_exponent = -149;
};

template <class T>
using FloatBits = typename FloatFormat<T>::Bits;

template <class T>
OZFP4_HD FloatBits<T> float_bits(T x) {
  FloatBits<T> bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

template <class T>
OZFP4_HD T float_from_bits(FloatBits<T> bits) {
  T x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

// x as an FP64 number. Precondition: x < 2^52.
OZFP4_HD double small_to_double(std::uint64_t x) { return float_from_bits<double>(x | 0x4330000000000000u) - 0x1p52; }

// Bits without the sign. As unsigned integers they order like the magnitudes; non-finite numbers come last.
template <class T>
OZFP4_HD FloatBits<T> magnitude_bits(T x) {
#if OZFP4_HAS_FEW_FP64_UNITS
  if constexpr (sizeof(T) == 8) {  // left alone, the compiler takes |x| of the FP64 units
    std::uint64_t magnitude;
    asm("{\n.reg .b32 low, high;\nmov.b64 {low, high}, %1;\nand.b32 high, high, 0x7FFFFFFF;\nmov.b64 %0, {low, high};\n}"
        : "=l"(magnitude)
        : "l"(float_bits(x)));
    return magnitude;
  }
#endif
  return float_bits(x) & static_cast<FloatBits<T>>(~FloatBits<T>(0) >> 1);
}

// Magnitude bits of infinity; anything above is a NaN.
template <class T>
inline constexpr FloatBits<T> kInfinityBits =
    static_cast<FloatBits<T>>(FloatFormat<T>::max_exponent - FloatFormat<T>::min_exponent + 2) << (FloatFormat<T>::precision - 1);

// Index of the highest set bit. Precondition: x > 0.
OZFP4_HD int highest_bit(std::uint64_t x) {
#if defined(__CUDA_ARCH__)
  return 63 - __clzll(static_cast<long long>(x));
#else
  return 63 - __builtin_clzll(x);
#endif
}

// Number of bits of x; 0 for 0. On the host by way of the exponent field of the (exact) FP64 value, which vectorises.
OZFP4_HD int bit_length(std::uint32_t x) {
#if defined(__CUDA_ARCH__)
  return 32 - __clz(static_cast<int>(x));
#else
  const int field = static_cast<int>(float_bits(static_cast<double>(x)) >> 52);
  return x != 0 ? field - 1022 : 0;
#endif
}

// floor(log2 |x|) of a finite nonzero number, given its magnitude bits; subnormal numbers included.
template <class T>
OZFP4_HD int exponent_of_magnitude(FloatBits<T> magnitude) {
  using Format = FloatFormat<T>;
  const int field = static_cast<int>(magnitude >> (Format::precision - 1));
  return field > 0 ? field - 1 + Format::min_exponent : highest_bit(magnitude) + Format::lowest_exponent;
}

// rint by the magic-number addition. Precondition: |x| <= 2^22 (float), 2^51 (double).
OZFP4_HD float round_to_integer(float x) {
  constexpr float magic = 12582912.0f;  // 1.5 * 2^23
  return (x + magic) - magic;
}
OZFP4_HD double round_to_integer(double x) {
  constexpr double magic = 6755399441055744.0;  // 1.5 * 2^52
  return (x + magic) - magic;
}

// x = +- significand * 2^weight. Precondition: x finite; 0 has the significand 0 and the least weight.
struct FloatParts {
  std::uint64_t significand;
  int weight;
  bool is_negative;
};
template <class T>
OZFP4_HD FloatParts float_parts(T x) {
  using Format = FloatFormat<T>;
  const FloatBits<T> magnitude = magnitude_bits(x);
  const int field = static_cast<int>(magnitude >> (Format::precision - 1));
  const auto fraction = static_cast<std::uint64_t>(magnitude & ((FloatBits<T>(1) << (Format::precision - 1)) - 1));
  return {field > 0 ? fraction | (std::uint64_t(1) << (Format::precision - 1)) : fraction,
          (field > 0 ? field - 1 : 0) + Format::lowest_exponent, float_bits(x) != magnitude};
}

// The product of two significands, by words of 32 bits. Precondition: both below 2^53; the words of the middle then stay below
// 2^54 + 2^32, those above below 2^43.
struct SignificandProduct {
  std::uint32_t word[4];
};
OZFP4_HD SignificandProduct significand_product(std::uint64_t x, std::uint64_t y) {
  const std::uint64_t mask = 0xffffffffu;
  const std::uint64_t low = (x & mask) * (y & mask);
  const std::uint64_t middle = (x & mask) * (y >> 32) + (x >> 32) * (y & mask) + (low >> 32);
  const std::uint64_t high = (x >> 32) * (y >> 32) + (middle >> 32);
  return {{static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(middle), static_cast<std::uint32_t>(high),
           static_cast<std::uint32_t>(high >> 32)}};
}

}  // namespace ozfp4
