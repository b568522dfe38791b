// What the entries of a line (a row of A, a column of B) say about its conversion to integers. Integers alone, sums and extremes
// that no order of the entries changes: so every device finds the same.
#pragma once

#include <cstdint>

#include "arith/float_fields.hpp"
#include "arith/host_device.hpp"
#include "arith/line_sum.hpp"

namespace ozfp4 {

inline constexpr int kNoLowest = 1500;  // of a line without a finite nonzero entry; above every weight

struct LineFacts {
  std::int32_t exponent = kNoExponent;  // largest floor(log2 |x|) of the finite nonzero entries
  std::int32_t lowest = kNoLowest;      // least weight of a bit that is set in one of them
  std::int64_t nonzeros = 0;            // how many they are
  std::int64_t exponent_sum = 0;        // of floor(log2 |x|) over them
};

// The weight of the lowest set bit. Range: the magnitude bits of a finite nonzero number, subnormal ones included.
template <class T>
OZFP4_HD int lowest_weight(FloatBits<T> magnitude) {
  using Format = FloatFormat<T>;
  const int field = static_cast<int>(magnitude >> (Format::precision - 1));
  const auto fraction = static_cast<std::uint64_t>(magnitude & ((FloatBits<T>(1) << (Format::precision - 1)) - 1));
  const std::uint64_t significand = field > 0 ? fraction | (std::uint64_t(1) << (Format::precision - 1)) : fraction;
#if defined(__CUDA_ARCH__)
  const int trailing = __ffsll(static_cast<long long>(significand)) - 1;
#else
  const int trailing = __builtin_ctzll(significand);
#endif
  return (field > 0 ? field - 1 : 0) + Format::lowest_exponent + trailing;
}

// Whether x 2^shift is no integer, so that its conversion rounds. Range: any entry; no for zeros and non-finite ones.
template <class T>
OZFP4_HD bool is_rounded(T x, int shift) {
  const FloatBits<T> magnitude = magnitude_bits(x);
  return magnitude != 0 && magnitude < kInfinityBits<T> && lowest_weight<T>(magnitude) + shift < 0;
}

// Range: any entry; zeros and non-finite ones add nothing.
template <class T>
OZFP4_HD void add_entry(LineFacts& facts, T x) {
  const FloatBits<T> magnitude = magnitude_bits(x);
  if (magnitude == 0 || magnitude >= kInfinityBits<T>) return;
  const int exponent = exponent_of_magnitude<T>(magnitude), lowest = lowest_weight<T>(magnitude);
  facts.exponent = exponent > facts.exponent ? exponent : facts.exponent;
  facts.lowest = lowest < facts.lowest ? lowest : facts.lowest;
  ++facts.nonzeros;
  facts.exponent_sum += exponent;
}

OZFP4_HD LineFacts combine(const LineFacts& x, const LineFacts& y) {
  return {x.exponent > y.exponent ? x.exponent : y.exponent, x.lowest < y.lowest ? x.lowest : y.lowest, x.nonzeros + y.nonzeros,
          x.exponent_sum + y.exponent_sum};
}

// Bits that hold every entry of the line as an integer, none rounded; 0 without a finite nonzero entry. At most 2098.
OZFP4_HD int span(const LineFacts& facts) { return facts.nonzeros == 0 ? 0 : facts.exponent - facts.lowest + 1; }

// How far the entries lie below the largest one's exponent, summed over the nonzero ones; nonnegative.
OZFP4_HD std::int64_t depth(const LineFacts& facts) { return facts.nonzeros * facts.exponent - facts.exponent_sum; }

}  // namespace ozfp4
