// Facts of a line (a row of A, a column of B) on which its conversion to integers rests. Integers alone, sums and extremes that
// no order of the entries changes: so every device finds the same.
#pragma once

#include <cmath>
#include <cstdint>

#include "arith/float_fields.hpp"
#include "arith/host_device.hpp"

namespace ozfp4 {

// A line without a finite nonzero entry has these: below every exponent, above every weight.
inline constexpr int kNoExponent = -1500, kNoLowest = 1500;

struct LineFacts {
  std::int32_t exponent = kNoExponent;  // largest floor(log2 |x|) of the finite nonzero entries
  std::int32_t lowest = kNoLowest;      // least weight of a bit that is set in one of them
  std::int64_t nonzeros = 0;            // how many they are
  std::int64_t exponent_sum = 0;        // of floor(log2 |x|) over them
};

// The weight of the lowest set bit. Precondition: the magnitude bits of a finite nonzero number, subnormal ones included.
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

// Whether x 2^shift is no integer, so that its conversion rounds. Precondition: any entry; no for zeros and non-finite ones.
template <class T>
OZFP4_HD bool is_rounded(T x, int shift) {
  const FloatBits<T> magnitude = magnitude_bits(x);
  return magnitude != 0 && magnitude < kInfinityBits<T> && lowest_weight<T>(magnitude) + shift < 0;
}

// Precondition: any entry; zeros and non-finite ones add nothing.
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

// An upper bound of the sum of squares of the rounded integers of a line of k entries. a = x 2^shift has norm sqrt(sum)
// 2^(capacity - 1) at most, rounding moves each entry by at most 1/2, and norms add. The last factor covers the rounding of this
// expression in FP64. 0 for a line without entries. Precondition: capacity in [-60, 400], k < 2^62: the square stays below
// 2^1023.
OZFP4_HD double norm_squared_bound(double sum, std::int64_t k, int capacity) {
  if (sum == 0.0) return 0.0;
  const double norm = float_from_bits<double>(static_cast<std::uint64_t>(capacity - 1 + 1023) << 52) * sqrt(sum) +
                      0.5 * sqrt(static_cast<double>(k));
  return norm * norm * (1.0 + 0x1p-30);
}

// Flags of a line that holds what is not finite.
enum Special : std::uint8_t { kFinite = 0, kHasInfinity = 1, kHasNan = 2 };

// The facts of a piece of a line, where the entries of a line lie in several places along K. Extremes, sums of integers,
// a bound and flags: pieces in any order make the facts of the line, and so its capacity and its scale, as if it were whole.
struct PieceFacts {
  LineFacts facts;
  // At least the sum of the squares of the finite entries, in units of 2^(2 facts.exponent): 1 or more, or 0 where all are zero.
  double squares = 0;
  std::uint8_t special = kFinite;
};

// As int64, which collectives of every library move: exponent, lowest, nonzeros, exponent_sum, the bits of squares, special.
inline constexpr int kPieceWords = 6;

OZFP4_HD void to_words(const PieceFacts& piece, std::int64_t* words) {
  words[0] = piece.facts.exponent;
  words[1] = piece.facts.lowest;
  words[2] = piece.facts.nonzeros;
  words[3] = piece.facts.exponent_sum;
  words[4] = static_cast<std::int64_t>(float_bits(piece.squares));
  words[5] = piece.special;
}

inline PieceFacts piece_of_words(const std::int64_t* words) {
  return {{static_cast<std::int32_t>(words[0]), static_cast<std::int32_t>(words[1]), words[2], words[3]},
          float_from_bits<double>(static_cast<std::uint64_t>(words[4])),
          static_cast<std::uint8_t>(words[5])};
}

// ldexp is exact but for what lies below 2^-1074, against a sum of 1 or more; the last factor covers that and three roundings.
// Precondition: of a line of fewer than 2^62 entries together, in fewer than 2^20 pieces.
OZFP4_HD PieceFacts combine(const PieceFacts& x, const PieceFacts& y) {
  PieceFacts both;
  both.facts = combine(x.facts, y.facts);
  both.special = static_cast<std::uint8_t>(x.special | y.special);
  const double of_x = x.squares == 0 ? 0.0 : ldexp(x.squares, 2 * (x.facts.exponent - both.facts.exponent));
  const double of_y = y.squares == 0 ? 0.0 : ldexp(y.squares, 2 * (y.facts.exponent - both.facts.exponent));
  both.squares = (of_x + of_y) * (1.0 + 0x1p-50);
  return both;
}

}  // namespace ozfp4
