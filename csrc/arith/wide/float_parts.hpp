// A floating-point number as an integer times a power of two.
#pragma once

#include <cstdint>

#include "arith/float_fields.hpp"
#include "arith/host_device.hpp"

namespace ozfp4 {

// x = +- significand * 2^weight. Range: x finite; 0 has the significand 0 and the least weight.
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

// The product of two significands, by words of 32 bits. Range: both below 2^53; the words of the middle then stay below
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
