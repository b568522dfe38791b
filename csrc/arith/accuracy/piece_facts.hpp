// What a piece of a line says of itself, where the entries of a line lie in several places along K. Extremes, sums of integers,
// a bound and flags: pieces in any order make the facts of the line, and so its capacity and its scale, as if it were whole.
#pragma once

#include <cmath>
#include <cstdint>

#include "arith/accuracy/line_facts.hpp"
#include "arith/special.hpp"

namespace ozfp4 {

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
// Range: of a line of fewer than 2^62 entries together, in fewer than 2^20 pieces.
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
