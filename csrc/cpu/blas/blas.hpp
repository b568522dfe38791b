// The CPU's matrix products go through a BLAS whose function pointers are set once: SciPy's from Python, any from C.
#pragma once

#include <cstdint>

#include "cpu/blas/blas_threads.hpp"

namespace ozfp4 {

using DgemmPointer = void (*)(char*, char*, int*, int*, int*, double*, double*, int*, double*, int*, double*, double*, int*);
using SgemmPointer = void (*)(char*, char*, int*, int*, int*, float*, float*, int*, float*, int*, float*, float*, int*);

// With integers of 32 or of 64 bits, whatever the types say: either is handed over as the other reads it.
void set_blas(DgemmPointer dgemm, SgemmPointer sgemm);
// The same, with what find_blas_setters says of dgemm: asks the dynamic linker nothing.
void set_blas(DgemmPointer dgemm, SgemmPointer sgemm, const BlasSetters& setters);
bool have_blas();

// C = A B^T (+ C if accumulate), row-major, by a given routine.
void gemm_nt(SgemmPointer gemm, std::int64_t rows, std::int64_t columns, std::int64_t k, const float* a, std::int64_t lda,
             const float* b, std::int64_t ldb, bool accumulate, float* c, std::int64_t ldc);
void gemm_nt(DgemmPointer gemm, std::int64_t rows, std::int64_t columns, std::int64_t k, const double* a, std::int64_t lda,
             const double* b, std::int64_t ldb, bool accumulate, double* c, std::int64_t ldc);

}  // namespace ozfp4
