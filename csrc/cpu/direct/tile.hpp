// The innermost loop of direct products: one tile of C, from panels of A and of B, in the processor's own integers.
//
// Multiplications and additions of unsigned words wrap modulo 2^w, and signed integers modulo 2^w are such words: of sums of
// products the lower w bits are right whatever the entries and however many there are.
#pragma once

#include <cstdint>

namespace ozfp4 {

// Rows and columns of a tile: 8 x 32 sums of 64 bits fill the 32 registers of AVX-512.
inline constexpr std::int64_t kDirectRows = 8, kDirectColumns = 32;

// sums[i][j] = sum_k a[k][i] b[k][j] modulo 2^32 or 2^64, for panels [k][kDirectRows] and [k][kDirectColumns].
void multiply_tile(const std::uint32_t* a, const std::uint32_t* b, std::int64_t k, std::uint32_t* sums);
void multiply_tile(const std::uint64_t* a, const std::uint64_t* b, std::int64_t k, std::uint64_t* sums);

}  // namespace ozfp4
