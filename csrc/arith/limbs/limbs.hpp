// Positional digits of one integer: base-13 limbs in S (paper, Lemma 1) and balanced digits of a power-of-two base,
// one by one and several at once.
#pragma once

#include <cstdint>

#include "arith/float_fields.hpp"
#include "arith/host_device.hpp"
#include "arith/limbs/e2m1.hpp"
#include "arith/wide/wide_int.hpp"

namespace ozfp4 {

// The greedy limb: the representative of v mod 13 of least magnitude, with ±5, which is not in S, replaced by ∓8.
// Always |limb| <= 8 (Lemma 2). Precondition: any v with |v| <= 2^62; v becomes (v - limb) / 13.
OZFP4_HD int take_limb13(std::int64_t& v) {
  std::int64_t quotient = v / 13;  // towards zero
  int limb = static_cast<int>(v - 13 * quotient);
  if (limb > 6) {
    limb -= 13;
    ++quotient;
  } else if (limb < -6) {
    limb += 13;
    --quotient;
  }
  if (limb == 5) {
    limb = -8;
    ++quotient;
  } else if (limb == -5) {
    limb = 8;
    --quotient;
  }
  v = quotient;
  return limb;
}

// The balanced digit of base 2^width, in [-2^(width-1), 2^(width-1)). Precondition: 1 <= width <= 31, |v| <= 2^62.
OZFP4_HD int take_balanced_digit(std::int64_t& v, int width) {
  const std::int64_t half = std::int64_t(1) << (width - 1);
  const std::int64_t shifted = v + half;
  const std::int64_t digit = (shifted & ((std::int64_t(1) << width) - 1)) - half;
  v = shifted >> width;
  return static_cast<int>(digit);
}

// ---- Base 13, three limbs a table look-up ------------------------------------------------------------------------------
//
// A limb depends on v mod 13 alone and v = limb (mod 13) is divided exactly, so the lowest three limbs of v depend on v mod 2197
// alone. With v = 2197 q + r they are those of r, and the rest of v is q plus the rest of r.

inline constexpr int kTriple = 13 * 13 * 13;
inline constexpr int kTripleReach = 1100;  // |r| is at most this, see take_triple_index
inline constexpr int kTripleEntries = 2 * kTripleReach + 1;
inline constexpr int kTriplesPerPart = 2;
inline constexpr int kPart13 = kTriple * kTriple;  // 13^6 = 4,826,809

// Table entry of r = index - kTripleReach: bytes 0 to 2 are the limbs, byte 3 is what remains, in {-1, 0, 1}.
OZFP4_HD std::uint32_t triple_word(int index) {
  std::int64_t rest = index - kTripleReach;
  std::uint32_t word = 0;
  for (int i = 0; i < 3; ++i) word |= static_cast<std::uint32_t>(take_limb13(rest) & 255) << (8 * i);
  return word | static_cast<std::uint32_t>(rest & 255) << 24;
}
OZFP4_HD int triple_carry(std::uint32_t word) { return static_cast<std::int32_t>(word) >> 24; }

// The same entry with E2M1 codes for limbs. Precondition: a word of triple_word.
OZFP4_HD std::uint32_t triple_codes(std::uint32_t word) {
  std::uint32_t codes = word & 0xff000000u;
  for (int i = 0; i < 3; ++i) {
    const std::uint32_t limb = (word >> (8 * i)) & 255u;
    codes |= e2m1_encode(limb < 128u ? static_cast<int>(limb) : static_cast<int>(limb) - 256) << (8 * i);
  }
  return codes;
}

// v = part[0] + 13^6 (part[1] + 13^6 part[2]). Two triples in parts 0 and 1, one in part 2: fifteen limbs.
struct Parts13 {
  std::int32_t part[3];
};

// Precondition: |v| <= 2^53; then |part[0]|, |part[1]| < 13^6 and |part[2]| <= 386. Other values give parts of no meaning.
OZFP4_HD Parts13 split_parts13(std::int64_t v) {
  const std::int64_t high = v / kPart13;
  const auto middle = static_cast<std::int32_t>(high);
  return {{static_cast<std::int32_t>(v - high * kPart13), middle % kPart13, middle / kPart13}};
}

// v = sum part[i] 13^(6 i): two triples in each part, thirty limbs.
struct WideParts13 {
  std::int32_t part[5];
};

// Precondition: |v| <= 2^94; then |part[i]| < 13^6. Other values give parts of no meaning.
//
// v = 13^12 q + r with a quotient from FP64. As |q| <= 2^94 / 13^12 < 2^49.7, its relative error, below 2^-51, moves it by less
// than 0.41, and |r| < 13^12 (1/2 + 0.41) follows from the lower 64 bits alone. r and q are cut as above.
OZFP4_HD WideParts13 split_parts13(const WideInt<3>& v) {
  constexpr std::int64_t square13 = std::int64_t(kPart13) * kPart13;
  const auto upper = static_cast<std::int64_t>((static_cast<std::uint64_t>(v.word[2]) << 32) | v.word[1]);
  const std::uint64_t lower = (static_cast<std::uint64_t>(v.word[1]) << 32) | v.word[0];
  const double number = static_cast<double>(upper) * 4294967296.0 + static_cast<double>(v.word[0]);
  const auto quotient = static_cast<std::int64_t>(round_to_integer(number * (1.0 / static_cast<double>(square13))));
  const auto rest =
      static_cast<std::int64_t>(lower - static_cast<std::uint64_t>(quotient) * static_cast<std::uint64_t>(square13));
  const auto high = static_cast<std::int32_t>(rest / kPart13);
  const Parts13 above = split_parts13(quotient);
  return {{static_cast<std::int32_t>(rest - std::int64_t(high) * kPart13), high, above.part[0], above.part[1], above.part[2]}};
}

// The index of v's lowest three limbs in the table; v becomes the quotient, to which the caller adds the entry's carry.
// Precondition: |v| <= 13^6 + 2 * 2197, an integer below 2^23. The quotient v / 2197, below 2200, is off by less than
// 2200 * 2^-23, so |r| <= 1098.5 + 0.6; it need not be the nearest.
OZFP4_HD int take_triple_index(std::int32_t& v) {
  const float x = static_cast<float>(v);
  const float quotient = round_to_integer(x * (1.0f / kTriple));
  const auto q = static_cast<std::int32_t>(quotient);
  const int index = v - q * kTriple + kTripleReach;
  v = q;
  // Only integers out of range, which come of non-finite entries, can miss the table.
  return index < 0 ? 0 : index < kTripleEntries ? index : kTripleEntries - 1;
}

// ---- Base 256 -----------------------------------------------------------------------------------------------------------
//
// Adding 128 at every place makes all digits nonnegative without carries between the balanced ones: byte i of the sum is
// digit i + 128. Flipping the top bit of each byte subtracts 128 in two's complement.

inline constexpr std::uint64_t kByteHalves = 0x8080808080808080u;

// Byte i is the i-th balanced digit in [-128, 128). Precondition: |v| <= 2^62.
OZFP4_HD std::uint64_t balanced_bytes(std::int64_t v) { return (static_cast<std::uint64_t>(v) + kByteHalves) ^ kByteHalves; }

// The same of a longer integer. Precondition: |v| <= 2^(32 Words - 2).
template <int Words>
OZFP4_HD WideInt<Words> balanced_bytes(const WideInt<Words>& v) {
  constexpr std::uint32_t halves = 0x80808080u;
  WideInt<Words> digits;
  std::uint64_t carry = 0;
  for (int i = 0; i < Words; ++i) {
    carry += static_cast<std::uint64_t>(v.word[i]) + halves;
    digits.word[i] = static_cast<std::uint32_t>(carry) ^ halves;
    carry >>= 32;
  }
  return digits;
}

}  // namespace ozfp4
