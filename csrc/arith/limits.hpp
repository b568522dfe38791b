// THE limits: up to where each accumulator is exact, each fold is right, and the longest inner dimension K that follows.
#pragma once

#include <cstdint>

namespace ozfp4 {

// ---- Accumulators --------------------------------------------------------------------------------------------------

// Integers of magnitude up to 2^24 (2^53) are FP32 (FP64) numbers, so that sums of integers are exact in any order as long as
// every partial sum stays within.
inline constexpr std::int64_t kFp32Exact = std::int64_t(1) << 24;
inline constexpr std::int64_t kFp64Exact = std::int64_t(1) << 53;

// The largest INT32: an INT32 accumulator wraps above. It is also the limit of a fold, with an exact quotient for 0 <= x < 2^31
// (arith/fold.hpp), and the largest count or position that a kernel holds in a word.
inline constexpr std::int64_t kInt32Exact = (std::int64_t(1) << 31) - 1;

// The most that a signed INT32 accumulator may reach before its fold. The fold adds an offset, a multiple of m that is at least
// this and below this + m, and the tcgen05 kernels add a residue times a multiplier, below 2^16. 2^29 + (2^29 + 2^8) + 2^16 is
// below 2^31, and with 2^30 instead it would not be.
inline constexpr std::int64_t kSignedFoldExact = std::int64_t(1) << 29;

// The most that an unsigned INT32 accumulator may reach before a fold that takes a residue times a multiplier with it. Each pass
// of the tcgen05 kernels does so after the first: (m - 1)^2 <= 255^2 < 2^16 has room below 2^31.
inline constexpr std::int64_t kUnsignedPassExact = (std::int64_t(1) << 31) - (std::int64_t(1) << 16);

// The most that an action of the multiply kernels may leave in an FP32 accumulator as the start of the next sum. Added to 1.5 *
// 2^23 it stays in [2^23, 2^24), where FP32 counts by ones and its bits give the integer (cuda/multiply/mma_sync/atom.cuh).
inline constexpr std::int64_t kFp32StartExact = std::int64_t(1) << 22;

// Digit groups of scheme I are summed in INT64: 2^63 with room for one more addition.
inline constexpr std::int64_t kInt64SumExact = std::int64_t(1) << 62;

// ---- The exactness conditions of the paper -------------------------------------------------------------------------

// K such that K products of magnitude max_product, added to a start value, stay exact. It is Lemma 2 with 144 or 64, and with
// max_product = 64 n_g for a group of n_g pairs. It is Lemma 3, conditions 1 to 3, with 144, 288 and 28,224 (against INT32).
constexpr std::int64_t accumulator_k_max(std::int64_t max_product, std::int64_t exact_limit, std::int64_t start = 0) {
  return (exact_limit - start) / max_product;
}

}  // namespace ozfp4
