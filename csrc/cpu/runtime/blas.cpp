#include "cpu/runtime/blas.hpp"

#include <stdexcept>

#include "cpu/runtime/blas_threads.hpp"

namespace ozfp4 {
namespace {

DgemmPointer dgemm_pointer = nullptr;
SgemmPointer sgemm_pointer = nullptr;

// BLAS is column-major: the row-major C = A B^T is C^T = B A^T there, B and A stored as k x columns and k x rows.
template <class Real, class Pointer>
void call_gemm(Pointer gemm, std::int64_t rows, std::int64_t columns, std::int64_t k, const Real* a, std::int64_t lda,
               const Real* b, std::int64_t ldb, bool accumulate, Real* c, std::int64_t ldc) {
  if (gemm == nullptr) throw std::runtime_error("no BLAS was set");
  char transposed = 'T', plain = 'N';
  int m = static_cast<int>(columns), n = static_cast<int>(rows), inner = static_cast<int>(k);
  int ld_b = static_cast<int>(ldb), ld_a = static_cast<int>(lda), ld_c = static_cast<int>(ldc);
  Real one = 1, beta = accumulate ? Real(1) : Real(0);
  gemm(&transposed, &plain, &m, &n, &inner, &one, const_cast<Real*>(b), &ld_b, const_cast<Real*>(a), &ld_a, &beta, c, &ld_c);
}

}  // namespace

void set_blas(DgemmPointer dgemm, SgemmPointer sgemm) {
  dgemm_pointer = dgemm;
  sgemm_pointer = sgemm;
  find_blas_threads(reinterpret_cast<const void*>(dgemm));
}

bool have_blas() { return dgemm_pointer != nullptr && sgemm_pointer != nullptr; }

void gemm_nt(std::int64_t rows, std::int64_t columns, std::int64_t k, const float* a, std::int64_t lda, const float* b,
             std::int64_t ldb, bool accumulate, float* c, std::int64_t ldc) {
  call_gemm(sgemm_pointer, rows, columns, k, a, lda, b, ldb, accumulate, c, ldc);
}

void gemm_nt(std::int64_t rows, std::int64_t columns, std::int64_t k, const double* a, std::int64_t lda, const double* b,
             std::int64_t ldb, bool accumulate, double* c, std::int64_t ldc) {
  call_gemm(dgemm_pointer, rows, columns, k, a, lda, b, ldb, accumulate, c, ldc);
}

}  // namespace ozfp4
