// Products by three loops, which the stand-ins of cuBLAS and of libozfp4 make: exact for the small integers of the tests.
#pragma once

#include <complex>
#include <cstdint>

template <class T>
T conjugated(T x) {
  return x;
}
template <class T>
std::complex<T> conjugated(std::complex<T> x) {
  return std::conj(x);
}

// op: 0 none, 1 transposed, 2 conjugated as well.
template <class T>
T entry(const T* matrix, std::int64_t leading, int op, std::int64_t row, std::int64_t column) {
  const T found = op == 0 ? matrix[row + column * leading] : matrix[column + row * leading];
  return op == 2 ? conjugated(found) : found;
}

template <class T>
void multiply(int transa, int transb, std::int64_t m, std::int64_t n, std::int64_t k, T alpha, const T* a, std::int64_t lda,
              const T* b, std::int64_t ldb, T beta, T* c, std::int64_t ldc) {
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < m; ++i) {
      T sum = 0;
      for (std::int64_t l = 0; l < k; ++l) sum += entry(a, lda, transa, i, l) * entry(b, ldb, transb, l, j);
      T& to = c[i + j * ldc];
      to = beta == T(0) ? alpha * sum : alpha * sum + beta * to;
    }
  }
}
