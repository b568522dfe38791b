// LineFacts in the words that a thread of a GPU adds up, a batch of entries at a time; the largest exponent is LineSum's.
#pragma once

#include <cstdint>

#include "arith/accuracy/line_facts.hpp"
#include "arith/float_fields.hpp"
#include "arith/host_device.hpp"
#include "arith/line_sum.hpp"

namespace ozfp4 {

// Added to every exponent and weight, so that none is negative: the least weight of FP64, which is below that of FP32.
inline constexpr int kFactBias = -FloatFormat<double>::lowest_exponent;

// Range: fewer than 2^31 entries; then the sum of biased exponents, each at most 2097, is below 2^43.
struct BatchFacts {
  std::uint32_t lowest = kNoLowest + kFactBias;  // biased
  std::uint32_t nonzeros = 0;
  std::uint64_t exponent_sum = 0;  // of biased exponents
};

// As two words: nonzeros (lower) and lowest, then the sum.
struct PackedFacts {
  std::uint64_t word[2];
};
OZFP4_HD PackedFacts pack(const BatchFacts& facts) {
  return {{std::uint64_t(facts.lowest) << 32 | facts.nonzeros, facts.exponent_sum}};
}
OZFP4_HD BatchFacts unpack(const PackedFacts& packed) {
  return {static_cast<std::uint32_t>(packed.word[0] >> 32), static_cast<std::uint32_t>(packed.word[0]), packed.word[1]};
}

OZFP4_HD BatchFacts combine(const BatchFacts& x, const BatchFacts& y) {
  return {x.lowest < y.lowest ? x.lowest : y.lowest, x.nonzeros + y.nonzeros, x.exponent_sum + y.exponent_sum};
}

// Range: exponent is the largest of the entries' that the facts are of.
OZFP4_HD LineFacts line_facts(const BatchFacts& facts, int exponent) {
  const auto nonzeros = static_cast<std::int64_t>(facts.nonzeros);
  return {exponent, static_cast<std::int32_t>(facts.lowest) - kFactBias, nonzeros,
          static_cast<std::int64_t>(facts.exponent_sum) - kFactBias * nonzeros};
}

// Number of zero bits below the lowest set one. Range: x > 0.
OZFP4_HD int trailing_zeros(std::uint32_t x) {
#if defined(__CUDA_ARCH__)
  return __ffs(static_cast<int>(x)) - 1;
#else
  return __builtin_ctz(x);
#endif
}

// The same of a significand given by its words, the upper one not 0.
OZFP4_HD int trailing_zeros(std::uint32_t upper, std::uint32_t lower) {
  return lower != 0 ? trailing_zeros(lower) : 32 + trailing_zeros(upper);
}

// Trailing zeros of the significand with the leading bit of a normal number. Range: any finite magnitude.
OZFP4_HD int significand_zeros(std::uint64_t magnitude) {
  return trailing_zeros((static_cast<std::uint32_t>(magnitude >> 32) & 0xFFFFFu) | 0x100000u,
                        static_cast<std::uint32_t>(magnitude));
}
OZFP4_HD int significand_zeros(std::uint32_t magnitude) { return trailing_zeros((magnitude & 0x7FFFFFu) | 0x800000u); }

// One by one. Range: any entries; zeros and non-finite ones add nothing.
template <class T, int N>
OZFP4_HD void add_odd_batch(BatchFacts& facts, const T (&x)[N]) {
  for (int i = 0; i < N; ++i) {
    const FloatBits<T> magnitude = magnitude_bits(x[i]);
    if (magnitude == 0 || magnitude >= kInfinityBits<T>) continue;
    const auto lowest = static_cast<std::uint32_t>(lowest_weight<T>(magnitude) + kFactBias);
    facts.lowest = lowest < facts.lowest ? lowest : facts.lowest;
    ++facts.nonzeros;
    facts.exponent_sum += static_cast<std::uint32_t>(exponent_of_magnitude<T>(magnitude) + kFactBias);
  }
}

// Range: any entries, `largest` the largest of their upper words.
template <class T, int N>
OZFP4_HD void add_batch(BatchFacts& facts, const T (&x)[N], std::uint32_t largest) {
  using Format = FloatFormat<T>;
  // Of a normal number with this field: exponent = field + below, weight of its significand's last bit = field + last.
  constexpr int below = Format::min_exponent - 1, last = below - (Format::precision - 1);
  std::uint32_t fields = 0, nonzeros = 0, lowest = facts.lowest;
  bool is_odd = largest >= UpperWord<T>::infinity;
  for (int i = 0; i < N; ++i) {
    const FloatBits<T> magnitude = magnitude_bits(x[i]);
    const auto field = static_cast<std::uint32_t>(magnitude >> (Format::precision - 1));
    const bool is_nonzero = magnitude != 0;
    is_odd |= is_nonzero && field == 0;
    const std::uint32_t weight = field + static_cast<std::uint32_t>(significand_zeros(magnitude) + (last + kFactBias));
    lowest = is_nonzero && weight < lowest ? weight : lowest;
    fields += field;
    nonzeros += is_nonzero ? 1u : 0u;
  }
  if (is_odd) return add_odd_batch(facts, x);
  facts.lowest = lowest;
  facts.nonzeros += nonzeros;
  facts.exponent_sum += fields + nonzeros * static_cast<std::uint32_t>(below + kFactBias);
}

}  // namespace ozfp4
