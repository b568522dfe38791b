// Products of planes by threads of ours: what a BLAS would give, as every sum is exact.
#pragma once

#include <cstdint>

namespace ozfp4 {

// C = A B^T (+ C if accumulate), row-major: A is rows x k, B is columns x k, C is rows x columns; ld in entries. On the calling
// thread alone, with some hundred KiB of its own. Range: sums that are exact in any order.
void gemm_nt(std::int64_t rows, std::int64_t columns, std::int64_t k, const float* a, std::int64_t lda, const float* b,
             std::int64_t ldb, bool accumulate, float* c, std::int64_t ldc);
void gemm_nt(std::int64_t rows, std::int64_t columns, std::int64_t k, const double* a, std::int64_t lda, const double* b,
             std::int64_t ldb, bool accumulate, double* c, std::int64_t ldc);

}  // namespace ozfp4
