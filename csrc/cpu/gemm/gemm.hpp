// Products of planes in floating point, with exact sums.
#pragma once

#include <cstdint>

#include "cpu/gemm/tile.hpp"

namespace ozfp4 {

// The panels of a thread, 1.2 MB at most: no less for more columns or terms.
template <class T>
std::int64_t gemm_bytes(std::int64_t columns, std::int64_t k);

// C = A B^T (+ C if accumulate), row-major: A is rows x k, B is columns x k, C is rows x columns; ld in entries. `memory`
// has gemm_bytes, aligned to 64. Entry: T, or bytes that become FP32 numbers. Precondition: sums that are exact in any order.
template <class T, class Entry>
void gemm_nt(const GemmTile<T>& tile, std::int64_t rows, std::int64_t columns, std::int64_t k, const Entry* a, std::int64_t lda,
             const Entry* b, std::int64_t ldb, bool accumulate, T* c, std::int64_t ldc, void* memory);

}  // namespace ozfp4
