// THE table of the routines that are interposed, under all of their names: C = alpha op(A) op(B) + beta C, and one triangle of C
// for op(B) = op(A)^T or op(A)^H.
//
// dgemm_ is that of Fortran. Prefixes and suffixes are those of libraries that may be in one process with another one. They are
// scipy_ of the wheels of NumPy and SciPy, and 64_, _64, _64_ where integers have 64 bits. Names without an underscore (dgemm of
// MKL) are left alone: a program may well have its own function of this name.
#pragma once

#include <cstdint>
#include <string>

#include "exec/product.hpp"

// X(name, letter, integer); letter x: functions with the type as an argument.
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
#define OZFP4_OF_COMPLEX_TYPES(NAMES, X, routine) NAMES(X, c, routine) NAMES(X, z, routine)
#define OZFP4_OF_ALL_TYPES(NAMES, X, routine) NAMES(X, s, routine) NAMES(X, d, routine) OZFP4_OF_COMPLEX_TYPES(NAMES, X, routine)

// Names by which libblastrampoline recognises a library's interface: exported for that, and forwarded.
#define OZFP4_PROBE_NAMES(X, Int, suffix) \
  X(isamax_##suffix, s, Int) X(sdot_##suffix, s, Int) X(cdotc_##suffix, c, Int) X(zdotc_##suffix, z, Int)

#define OZFP4_CUBLAS_NAMES(X, p, P, function, version) \
  X(cublas##P##function##version, p, int) X(cublas##P##function##version##_64, p, std::int64_t)
#define OZFP4_OF_CUBLAS_TYPES(X, function, version) \
  OZFP4_CUBLAS_NAMES(X, s, S, function, version)    \
  OZFP4_CUBLAS_NAMES(X, d, D, function, version)    \
  OZFP4_CUBLAS_NAMES(X, c, C, function, version) OZFP4_CUBLAS_NAMES(X, z, Z, function, version)

// The names of cuBLAS come last.
#define OZFP4_ALL_NAMES(X)                             \
  OZFP4_OF_ALL_TYPES(OZFP4_FORTRAN_NAMES, X, gemm)     \
  OZFP4_OF_ALL_TYPES(OZFP4_CBLAS_NAMES, X, gemm)       \
  OZFP4_OF_ALL_TYPES(OZFP4_FORTRAN_NAMES, X, syrk)     \
  OZFP4_OF_ALL_TYPES(OZFP4_CBLAS_NAMES, X, syrk)       \
  OZFP4_OF_COMPLEX_TYPES(OZFP4_FORTRAN_NAMES, X, herk) \
  OZFP4_OF_COMPLEX_TYPES(OZFP4_CBLAS_NAMES, X, herk)   \
  OZFP4_PROBE_NAMES(X, std::int32_t, )                 \
  OZFP4_PROBE_NAMES(X, std::int64_t, 64_)              \
  OZFP4_OF_CUBLAS_TYPES(X, gemm, _v2)                  \
  OZFP4_OF_CUBLAS_TYPES(X, gemmStridedBatched, )       \
  OZFP4_CUBLAS_NAMES(X, x, , GemmEx, )                 \
  OZFP4_CUBLAS_NAMES(X, x, , GemmStridedBatchedEx, )

namespace ozfp4::exec {

#define OZFP4_NAME(name, ...) name,
enum class Routine : std::uint16_t { OZFP4_ALL_NAMES(OZFP4_NAME) count };
#undef OZFP4_NAME

inline bool is_on_device(Routine routine) { return routine >= Routine::cublasSgemm_v2; }

// Its symbol.
inline const char* name_of(Routine routine) {
#define OZFP4_NAME(name, ...) #name,
  static const char* const names[] = {OZFP4_ALL_NAMES(OZFP4_NAME)};
#undef OZFP4_NAME
  return names[static_cast<int>(routine)];
}

// The name of people: dgemm of scipy_cblas_dgemm64_, cublasDgemm of cublasDgemm_v2_64.
inline std::string plain_name(Routine routine) {
  std::string name = name_of(routine);
  if (is_on_device(routine)) return name.substr(0, name.find('_'));
  for (const char* prefix : {"scipy_", "cblas_"}) {  // of six letters each
    if (name.compare(0, 6, prefix) == 0) name.erase(0, 6);
  }
  return name.substr(0, 5);  // as long as those of all products
}

}  // namespace ozfp4::exec
