// The innermost loops of products in words: a tile of sums of products, of words that wrap or in FP64.
#pragma once

#include <cstdint>

namespace ozfp4 {

// sums[i][j] = sum_k a[i][k] b[k][j], of kWordRows lines a_pitch apart, a panel [k][kWordColumns], and rows of sums `pitch`
// apart.
void sum_words(const std::uint64_t* a, std::int64_t a_pitch, const std::uint64_t* b, std::int64_t k, std::uint64_t* sums,
               std::int64_t pitch);
void sum_numbers(const double* a, std::int64_t a_pitch, const double* b, std::int64_t k, double* sums, std::int64_t pitch);

// The same by sums of kNearBlock products, which are added up: each product passes through fewer roundings.
void sum_numbers_in_blocks(const double* a, std::int64_t a_pitch, const double* b, std::int64_t k, double* sums,
                           std::int64_t pitch);

}  // namespace ozfp4
