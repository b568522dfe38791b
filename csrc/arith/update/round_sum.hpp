// A wide integer times a power of two, plus a number that may lie anywhere beside it, rounded once.
//
// Both are laid side by side in words of memory that are wide enough for any overlap, and added exactly. Where they lie so far
// apart that no result and no tie of any rounding can be between, the smaller one stands for itself as one unit far below the
// last bit of the other.
#pragma once

#include <cstdint>

#include "arith/accuracy/modes.hpp"
#include "arith/host_device.hpp"
#include "arith/wide/float_parts.hpp"
#include "arith/wide/round_wide.hpp"
#include "arith/wide/wide_int.hpp"

namespace ozfp4 {

// +- magnitude * 2^weight. Range: magnitude < 2^106, lowest word first.
struct Addend {
  SignificandProduct magnitude;
  int weight;
  bool is_negative;
};

inline constexpr int kSumRoom = 7;    // words that a sum takes beyond those of its integer
inline constexpr int kSumBelow = 6;   // of them below the integer, where the addend reaches below it
inline constexpr int kSumApart = 64;  // bits that make a number tiny beside one whose last bit lies so much higher

// Where the integer and the addend lie in the words of a sum.
struct SumPlace {
  int weight;                            // of the lowest bit of the words
  int words_below;                       // the integer begins above so many
  int addend_at;                         // bits
  bool is_integer_tiny, is_addend_tiny;  // then it is one unit of the lowest bit
};

// Range: `words` of the integer >= 3, weights within 2^28.
//   Addend above: the integer is below 2^(32 words) units of its own, less than 2^-64 of the addend's last bit.
//   Overlap: the addend's first bit lies below bit 32 words + 64 + 106.
//   Addend below: all of it under 2^(106 - 192) of the integer's last bit. The integer is not 0, so that the leading bit of the
//   sum is at most one below its last one, and every result and every tie is a multiple of 2^-56 of that.
OZFP4_HD SumPlace place_sum(int words, int weight, bool is_zero, const Addend& addend) {
  const SignificandProduct& m = addend.magnitude;
  const bool has_addend = (m.word[0] | m.word[1] | m.word[2] | m.word[3]) != 0;
  if (!has_addend) return {weight, 0, 0, false, false};
  const int apart = addend.weight - weight;
  if (is_zero || apart > 32 * words + kSumApart) return {addend.weight - kSumApart, 0, kSumApart, true, false};
  if (apart >= 0) return {weight, 0, apart, false, false};
  const int below = 32 * kSumBelow;
  const bool is_tiny = apart < -below;
  return {weight - below, kSumBelow, is_tiny ? 0 : apart + below, false, is_tiny};
}

// Bits [32 i - at, 32 i - at + 32) of the magnitude, zero outside of it. Range: i, at >= 0.
OZFP4_HD std::uint32_t addend_word(const SignificandProduct& magnitude, int i, int at) {
  const int own = i - (at >> 5);
  std::uint32_t upper = 0, lower = 0;
  for (int k = 0; k < 4; ++k) {
    upper = k == own ? magnitude.word[k] : upper;
    lower = k == own - 1 ? magnitude.word[k] : lower;
  }
  const int bit = at & 31;
  return bit == 0 ? upper : (upper << bit) | (lower >> (32 - bit));
}

// words * 2^weight, rounded once; an exact zero is +0, and -0 when rounding down. Range: two's complement, count >= 4, |weight| <
// 2^28.
template <class T>
OZFP4_HD T round_words(const std::uint32_t* word, int count, int weight, Rounding rounding) {
  // The four words below those of the sign, and whatever is set below them in their last bit: rounding to odd, at least 96 - 1
  // bits below the leading one, more than the precision and two.
  const std::uint32_t sign = (word[count - 1] >> 31) != 0 ? 0xffffffffu : 0u;
  int top = count - 1;
  while (top > 3 && word[top] == sign) --top;
  const int base = top - 3;
  std::uint32_t below = 0;
  for (int i = 0; i < base; ++i) below |= word[i];
  WideInt<5> leading;
  for (int i = 0; i < 4; ++i) leading.word[i] = word[base + i];
  leading.word[0] |= below != 0 ? 1u : 0u;
  leading.word[4] = sign;
  return round_wide<T>(leading, 32 * base + weight, rounding);
}

// x 2^weight + addend, rounded once; an exact zero is +0, and -0 when rounding down. Range: x has `words` words of two's
// complement, any value, words >= 3; `room` has words + kSumRoom, which are overwritten; weights within 2^27.
template <class T>
OZFP4_HD T round_sum(const std::uint32_t* x, int words, int weight, const Addend& addend, std::uint32_t* room,
                     Rounding rounding) {
  std::uint32_t any = 0;
  for (int i = 0; i < words; ++i) any |= x[i];
  const std::uint32_t sign = (x[words - 1] >> 31) != 0 ? 0xffffffffu : 0u;
  const SumPlace place = place_sum(words, weight, any == 0, addend);
  const SignificandProduct unit = {{1u, 0u, 0u, 0u}};
  const SignificandProduct& magnitude = place.is_addend_tiny ? unit : addend.magnitude;
  const std::uint32_t flip = addend.is_negative ? 0xffffffffu : 0u;
  std::uint64_t carry = flip & 1u;
  const int count = words + kSumRoom;
  for (int i = 0; i < count; ++i) {
    const int own = i - place.words_below;
    const std::uint32_t tiny = i == 0 && any != 0 ? 1u | sign : sign;
    const std::uint32_t integer = own < 0 ? 0u : own < words ? x[own] : sign;
    carry +=
        static_cast<std::uint64_t>(place.is_integer_tiny ? tiny : integer) + (addend_word(magnitude, i, place.addend_at) ^ flip);
    room[i] = static_cast<std::uint32_t>(carry);
    carry >>= 32;
  }
  return round_words<T>(room, count, place.weight, rounding);
}

}  // namespace ozfp4
