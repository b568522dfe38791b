// Loops over the wide integers of up to kLanes entries: what a result of 64 bits keeps of them.
#pragma once

#include <cstdint>

#include "cpu/stages/columns.hpp"

namespace ozfp4 {

// Of each lane the integer modulo 2^64, and of its words above the second one the sum of how far they are from 0 and from -1:
// an integer fits 64 bits without a sign where `above` is 0, and with one where those of the sign of bit 63 are.
struct LowLanes {
  std::uint64_t low[kLanes];
  std::uint32_t above[kLanes];       // all words above the second, or-ed
  std::uint32_t above_sign[kLanes];  // the same of the words' differences from the sign of bit 63
};

#define OZFP4_LOOPS(Words) void low_lanes(const Columns<Words>& column, int n, const CrtProduct<Words>& product, LowLanes& lanes);
OZFP4_WORD_COUNTS(OZFP4_LOOPS)
#undef OZFP4_LOOPS

// The same of one integer.
template <int Words>
inline void low_lane(const WideInt<Words>& x, int i, LowLanes& lanes) {
  const std::uint32_t sign = static_cast<std::uint32_t>(static_cast<std::int32_t>(x.word[1]) >> 31);
  std::uint32_t above = 0, above_sign = 0;
  for (int w = 2; w < Words; ++w) {
    above |= x.word[w];
    above_sign |= x.word[w] ^ sign;
  }
  lanes.low[i] = (static_cast<std::uint64_t>(x.word[1]) << 32) | x.word[0];
  lanes.above[i] = above;
  lanes.above_sign[i] = above_sign;
}

}  // namespace ozfp4
