// LineFacts in the words that a thread of a GPU adds up, a batch of entries at a time; the largest exponent is LineSum's.
#pragma once

#include <cstdint>

#include "arith/accuracy/line_facts.hpp"
#include "arith/float_fields.hpp"
#include "arith/host_device.hpp"
#include "cuda/scale/line_sum.hpp"

namespace ozfp4 {

// Added to every exponent and weight, so that none is negative: the least weight of FP64, which is below that of FP32.
inline constexpr int kFactBias = -FloatFormat<double>::lowest_exponent;

// Precondition: the sum of biased exponents, each at most 2097, fits: fewer than 2^31 entries, or than 2^20 of short facts.
template <class Sum>
struct FactsOf {
  std::uint32_t lowest = kNoLowest + kFactBias;  // biased
  std::uint32_t nonzeros = 0;
  Sum exponent_sum = 0;  // of biased exponents
};
using BatchFacts = FactsOf<std::uint64_t>;
using ShortFacts = FactsOf<std::uint32_t>;
inline constexpr std::int64_t kMostShortEntries = (1 << 20) - 1;

// As words: nonzeros (lower) and lowest, then the sum; short facts in one, 12, 20 and 32 bits.
template <class Sum>
struct PackedFacts {
  std::uint64_t word[sizeof(Sum) / 4];
};
OZFP4_HD PackedFacts<std::uint64_t> pack(const BatchFacts& facts) {
  return {{std::uint64_t(facts.lowest) << 32 | facts.nonzeros, facts.exponent_sum}};
}
OZFP4_HD BatchFacts unpack(const PackedFacts<std::uint64_t>& packed) {
  return {static_cast<std::uint32_t>(packed.word[0] >> 32), static_cast<std::uint32_t>(packed.word[0]), packed.word[1]};
}
OZFP4_HD PackedFacts<std::uint32_t> pack(const ShortFacts& facts) {
  return {{std::uint64_t(facts.lowest << 20 | facts.nonzeros) << 32 | facts.exponent_sum}};
}
OZFP4_HD ShortFacts unpack(const PackedFacts<std::uint32_t>& packed) {
  const auto upper = static_cast<std::uint32_t>(packed.word[0] >> 32);
  return {upper >> 20, upper & 0xFFFFFu, static_cast<std::uint32_t>(packed.word[0])};
}

template <class Sum>
OZFP4_HD FactsOf<Sum> combine(const FactsOf<Sum>& x, const FactsOf<Sum>& y) {
  return {x.lowest < y.lowest ? x.lowest : y.lowest, x.nonzeros + y.nonzeros, x.exponent_sum + y.exponent_sum};
}

// Precondition: exponent is the largest of the entries' that the facts are of.
template <class Sum>
OZFP4_HD LineFacts line_facts(const FactsOf<Sum>& facts, int exponent) {
  const auto nonzeros = static_cast<std::int64_t>(facts.nonzeros);
  return {exponent, static_cast<std::int32_t>(facts.lowest) - kFactBias, nonzeros,
          static_cast<std::int64_t>(facts.exponent_sum) - kFactBias * nonzeros};
}

// The lowest 32 bits of the significand with the leading bit of a normal number.
OZFP4_HD std::uint32_t low_significand(std::uint64_t magnitude) { return static_cast<std::uint32_t>(magnitude); }
OZFP4_HD std::uint32_t low_significand(std::uint32_t magnitude) { return (magnitude & 0x7FFFFFu) | 0x800000u; }

// One by one, in a loop: what seldom happens takes no registers from what often does. Precondition: any entries; zeros and
// non-finite ones add nothing.
template <class Sum, class T, int N>
OZFP4_HD void add_odd_batch(FactsOf<Sum>& facts, const T (&x)[N]) {
  T left[N];
  for (int i = 0; i < N; ++i) left[i] = x[i];
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
  for (int i = 0; i < N; ++i) {
    const FloatBits<T> magnitude = magnitude_bits(left[0]);
    for (int j = 1; j < N; ++j) left[j - 1] = left[j];
    if (magnitude == 0 || magnitude >= kInfinityBits<T>) continue;
    const auto lowest = static_cast<std::uint32_t>(lowest_weight<T>(magnitude) + kFactBias);
    facts.lowest = lowest < facts.lowest ? lowest : facts.lowest;
    ++facts.nonzeros;
    facts.exponent_sum += static_cast<std::uint32_t>(exponent_of_magnitude<T>(magnitude) + kFactBias);
  }
}

// Precondition: any entries, `largest` the largest of their upper words. Most numbers, normal with a bit set among the lowest 32
// of the significand, take a search for one bit an entry. A batch with others, zeros among them, is taken one by one.
template <class Sum, class T, int N>
OZFP4_HD void add_batch(FactsOf<Sum>& facts, const T (&x)[N], std::uint32_t largest) {
  using Format = FloatFormat<T>;
  // For a normal number with this field: exponent = field + below, weight of its significand's last bit = field + last.
  constexpr int below = Format::min_exponent - 1, last = below - (Format::precision - 1);
  constexpr int fraction_bits = UpperWord<T>::fraction_bits;
  std::uint32_t fields = 0, lowest = UINT32_MAX, least_upper = UINT32_MAX, least_low = UINT32_MAX;
  for (int i = 0; i < N; ++i) {
    const std::uint32_t upper = upper_word(x[i]), low = low_significand(magnitude_bits(x[i])), field = upper >> fraction_bits;
    const std::uint32_t weight = field + static_cast<std::uint32_t>(bit_length(low & (0u - low)));
    lowest = weight < lowest ? weight : lowest;
    least_upper = upper < least_upper ? upper : least_upper;
    least_low = low < least_low ? low : least_low;
    fields += field;
  }
  if (largest >= UpperWord<T>::infinity || least_upper < std::uint32_t(1) << fraction_bits || least_low == 0) {
    return add_odd_batch(facts, x);
  }
  lowest += static_cast<std::uint32_t>(last + kFactBias - 1);
  facts.lowest = lowest < facts.lowest ? lowest : facts.lowest;
  facts.nonzeros += N;
  facts.exponent_sum += fields + N * static_cast<std::uint32_t>(below + kFactBias);
}

}  // namespace ozfp4
