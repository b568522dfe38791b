// THE table of the routines that are interposed: C = alpha op(A) op(B) + beta C, and of op(B) = op(A)^T or op(A)^H one triangle
// of C, under all the names that they go by.
//
// dgemm_ is that of Fortran; prefixes and suffixes are those of libraries that may stand beside another one in a process: scipy_
// of the wheels of NumPy and SciPy, and 64_, _64, _64_ where integers have 64 bits. Names without an underscore (dgemm of MKL)
// are left alone: a program may well have a function of its own that is called so.
#pragma once

#include <cstdint>

// X(name, letter, integer)
#define OZFP4_FORTRAN_NAMES(X, p, routine)  \
  X(p##routine##_, p, std::int32_t)         \
  X(scipy_##p##routine##_, p, std::int32_t) \
  X(p##routine##_64_, p, std::int64_t)      \
  X(p##routine##_64, p, std::int64_t)       \
  X(scipy_##p##routine##_64_, p, std::int64_t)
#define OZFP4_CBLAS_NAMES(X, p, routine)       \
  X(cblas_##p##routine, p, std::int32_t)       \
  X(scipy_cblas_##p##routine, p, std::int32_t) \
  X(cblas_##p##routine##64_, p, std::int64_t)  \
  X(cblas_##p##routine##_64, p, std::int64_t)  \
  X(cblas_##p##routine##_64_, p, std::int64_t) \
  X(scipy_cblas_##p##routine##64_, p, std::int64_t)
#define OZFP4_NAMES_OF_ALL_TYPES(NAMES, X, routine) \
  NAMES(X, s, routine) NAMES(X, d, routine) NAMES(X, c, routine) NAMES(X, z, routine)
#define OZFP4_NAMES_OF_COMPLEX_TYPES(NAMES, X, routine) NAMES(X, c, routine) NAMES(X, z, routine)
#define OZFP4_ALL_FORTRAN_NAMES(X) OZFP4_NAMES_OF_ALL_TYPES(OZFP4_FORTRAN_NAMES, X, gemm)
#define OZFP4_ALL_CBLAS_NAMES(X) OZFP4_NAMES_OF_ALL_TYPES(OZFP4_CBLAS_NAMES, X, gemm)
#define OZFP4_ALL_FORTRAN_SYRK_NAMES(X) OZFP4_NAMES_OF_ALL_TYPES(OZFP4_FORTRAN_NAMES, X, syrk)
#define OZFP4_ALL_FORTRAN_HERK_NAMES(X) OZFP4_NAMES_OF_COMPLEX_TYPES(OZFP4_FORTRAN_NAMES, X, herk)
#define OZFP4_ALL_CBLAS_SYRK_NAMES(X) OZFP4_NAMES_OF_ALL_TYPES(OZFP4_CBLAS_NAMES, X, syrk)
#define OZFP4_ALL_CBLAS_HERK_NAMES(X) OZFP4_NAMES_OF_COMPLEX_TYPES(OZFP4_CBLAS_NAMES, X, herk)
#define OZFP4_ALL_TRIANGLE_NAMES(X) \
  OZFP4_ALL_FORTRAN_SYRK_NAMES(X) OZFP4_ALL_FORTRAN_HERK_NAMES(X) OZFP4_ALL_CBLAS_SYRK_NAMES(X) OZFP4_ALL_CBLAS_HERK_NAMES(X)

// Names by which libblastrampoline recognises a library's interface: exported for that, and forwarded.
#define OZFP4_ALL_PROBE_NAMES(X) \
  X(isamax_, s, std::int32_t)    \
  X(isamax_64_, s, std::int64_t) \
  X(sdot_, s, std::int32_t)      \
  X(sdot_64_, s, std::int64_t)   \
  X(cdotc_, c, std::int32_t) X(cdotc_64_, c, std::int64_t) X(zdotc_, z, std::int32_t) X(zdotc_64_, z, std::int64_t)

// cuBLAS: what it calls S, D, C, Z; the names that end with 64 have 64-bit integers. X(name, letter, integer); letter x:
// functions that are told the type, or have none.
#define OZFP4_CUBLAS_GEMM_NAMES(X, P, p) \
  X(cublas##P##gemm_v2, p, int)          \
  X(cublas##P##gemm_v2_64, p, std::int64_t)
#define OZFP4_CUBLAS_STRIDED_NAMES(X, P, p) \
  X(cublas##P##gemmStridedBatched, p, int)  \
  X(cublas##P##gemmStridedBatched_64, p, std::int64_t)
#define OZFP4_OF_ALL_TYPES(NAMES, X) NAMES(X, S, s) NAMES(X, D, d) NAMES(X, C, c) NAMES(X, Z, z)
#define OZFP4_ALL_EX_NAMES(X) \
  X(cublasGemmEx, x, int)     \
  X(cublasGemmEx_64, x, std::int64_t)
#define OZFP4_ALL_STRIDED_EX_NAMES(X)   \
  X(cublasGemmStridedBatchedEx, x, int) \
  X(cublasGemmStridedBatchedEx_64, x, std::int64_t)
#define OZFP4_ALL_CUBLAS_NAMES(X)                   \
  OZFP4_OF_ALL_TYPES(OZFP4_CUBLAS_GEMM_NAMES, X)    \
  OZFP4_OF_ALL_TYPES(OZFP4_CUBLAS_STRIDED_NAMES, X) \
  OZFP4_ALL_EX_NAMES(X)                             \
  OZFP4_ALL_STRIDED_EX_NAMES(X)
#define OZFP4_ALL_NAMES(X)   \
  OZFP4_ALL_FORTRAN_NAMES(X) \
  OZFP4_ALL_CBLAS_NAMES(X) OZFP4_ALL_TRIANGLE_NAMES(X) OZFP4_ALL_PROBE_NAMES(X) OZFP4_ALL_CUBLAS_NAMES(X)
