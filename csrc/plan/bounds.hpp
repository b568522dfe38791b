// The exactness limits of the paper as code: each function returns the longest inner dimension K that its condition
// admits, so that the slack of a given K is the result minus K.
#pragma once

#include <cstdint>

namespace ozfp4 {

// Largest magnitude that p base-13 limbs of S represent without gaps: X_p = (13^p - 1) / 3 (Lemma 1). Range: p in [1, 16].
constexpr std::int64_t gap_free_range(int p) {
  std::int64_t x = 0;
  for (int i = 0; i < p; ++i) x = 13 * x + 4;
  return x;
}

// Fewest base-13 limbs that represent every |v| <= 2^bits. Range: bits in [0, 58].
constexpr int limbs_needed(int bits) {
  int p = 1;
  while (gap_free_range(p) < (std::int64_t(1) << bits)) ++p;
  return p;
}

// Integers of magnitude up to 2^24 (2^53, 2^31 - 1) are exact in an FP32 (FP64, INT32) accumulator.
inline constexpr std::int64_t kFp32Exact = std::int64_t(1) << 24;
inline constexpr std::int64_t kFp64Exact = std::int64_t(1) << 53;
inline constexpr std::int64_t kInt32Exact = (std::int64_t(1) << 31) - 1;

// K such that K products of magnitude max_product, added to a start value, stay exact: Lemma 2 with 144 or 64 and a group
// of n_g pairs as max_product = 64 n_g; Lemma 3, conditions 1 to 3, with 144, 288 and 28,224 (against INT32).
constexpr std::int64_t accumulator_k_max(std::int64_t max_product, std::int64_t exact_limit, std::int64_t start = 0) {
  return (exact_limit - start) / max_product;
}

}  // namespace ozfp4
