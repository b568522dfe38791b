// The bit fields of FP64 and FP32, and the questions the scale stage asks of them.
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

// Bits without the sign. As unsigned integers they order like the magnitudes; non-finite numbers come last.
template <class T>
OZFP4_HD FloatBits<T> magnitude_bits(T x) {
  return float_bits(x) & static_cast<FloatBits<T>>(~FloatBits<T>(0) >> 1);
}

// Magnitude bits of infinity; anything above is a NaN.
template <class T>
inline constexpr FloatBits<T> kInfinityBits =
    static_cast<FloatBits<T>>(FloatFormat<T>::max_exponent - FloatFormat<T>::min_exponent + 2) << (FloatFormat<T>::precision - 1);

// Index of the highest set bit. Range: x > 0.
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

}  // namespace ozfp4
