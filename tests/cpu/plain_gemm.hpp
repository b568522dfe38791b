// A BLAS of plain loops, for checks without one.
#pragma once

#include <cstdint>

// C = A^T B, column-major: the one form that gemm_nt asks for.
template <class Real>
void plain_gemm(char*, char*, int* m, int* n, int* k, Real*, Real* a, int* lda, Real* b, int* ldb, Real* beta, Real* c,
                int* ldc) {
  for (int j = 0; j < *n; ++j) {
    for (int i = 0; i < *m; ++i) {
      Real sum = *beta == 0 ? Real(0) : c[std::int64_t(j) * *ldc + i];
      for (int l = 0; l < *k; ++l) sum += a[std::int64_t(i) * *lda + l] * b[std::int64_t(j) * *ldb + l];
      c[std::int64_t(j) * *ldc + i] = sum;
    }
  }
}
