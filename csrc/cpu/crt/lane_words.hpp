// The integers of up to kLanes entries, of which only the upper words are looked at.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/stages/columns.hpp"

namespace ozfp4 {

// Bits of the longest integers that three FP64 numbers take (arith/wide/round_pieces.hpp), and their words.
inline constexpr int kCertainBits = 157, kUpperWords = 5;

// Words in two's complement, lowest first. `refused` is not 0 where they may be off by the product of the moduli.
template <int Words>
struct LaneWords {
  std::uint32_t word[Words][kLanes];
  std::int64_t refused[kLanes];
};

#define OZFP4_FIND_WORDS(Words) \
  void find_words(const Columns<Words>& column, int n, const CrtProduct<Words>& product, LaneWords<Words>& lanes);
OZFP4_WORD_COUNTS(OZFP4_FIND_WORDS)
#undef OZFP4_FIND_WORDS

// So many lowest words of integers below 2^bits are left out that kUpperWords follow, of kCertainBits.
template <int Words>
constexpr int words_to_cut(int bits) {
  return std::clamp((bits - kCertainBits + 32) / 32, 0, Words - kUpperWords);
}

}  // namespace ozfp4
