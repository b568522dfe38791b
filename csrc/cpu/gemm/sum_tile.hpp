// The register tile of sums in machine words, which wrap, together with sums in FP64.
#pragma once

#include <cstdint>

#include "arith/multiples.hpp"

namespace ozfp4 {

// Rows and columns of a tile: 4 x 32 of 64 bits fill half of the registers of AVX-512, and are what compilers keep there.
inline constexpr std::int64_t kSumRows = 4, kSumColumns = 32;

// Whether the transposed product has fewer tiles: few columns are better rows.
inline bool is_better_transposed(std::int64_t m, std::int64_t n) {
  const auto padded = [](std::int64_t rows, std::int64_t columns) {
    return static_cast<double>(round_up(rows, kSumRows)) * static_cast<double>(round_up(columns, kSumColumns));
  };
  return padded(n, m) < padded(m, n);
}

// sums[i][j] = sum_k a[i][k] b[k][j], of kSumRows lines a_pitch apart, a panel [k][kSumColumns], and rows of sums `pitch` apart.
// Words wrap, and signed integers modulo 2^w are such words: the lower w bits of sums of products are right whatever the entries
// and however many there are.
void sum_products(const std::uint32_t* a, std::int64_t a_pitch, const std::uint32_t* b, std::int64_t k, std::uint32_t* sums,
                  std::int64_t pitch);
void sum_products(const std::uint64_t* a, std::int64_t a_pitch, const std::uint64_t* b, std::int64_t k, std::uint64_t* sums,
                  std::int64_t pitch);
void sum_products(const double* a, std::int64_t a_pitch, const double* b, std::int64_t k, double* sums, std::int64_t pitch);

}  // namespace ozfp4
