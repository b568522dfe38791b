// The CPU's matrix products: every name of the table as a function that stands before the real one.
#include "exec/entry_points.hpp"

namespace ozfp4::exec {
namespace {

// The lengths of the two strings come last, from callers that pass them; from others they are whatever is there, and whoever does
// not read them does not care.
template <class Int>
using FortranGemm = void (*)(const char*, const char*, const Int*, const Int*, const Int*, const void*, const void*, const Int*,
                             const void*, const Int*, const void*, void*, const Int*, std::size_t, std::size_t);

template <class Int>
void fortran_gemm(Routine routine, const void* caller, const char* transa, const char* transb, const Int* m, const Int* n,
                  const Int* k, const void* alpha, const void* a, const Int* lda, const void* b, const Int* ldb, const void* beta,
                  void* c, const Int* ldc, std::size_t length_a, std::size_t length_b) {
  const Real& real = real_routine(routine, caller);
  const auto value = [&real](const Int* at) { return value_of(real, at); };
  const Product product{type_of(routine),
                        column_major,
                        fortran_transpose(*transa),
                        fortran_transpose(*transb),
                        value(m),
                        value(n),
                        value(k),
                        alpha,
                        a,
                        value(lda),
                        b,
                        value(ldb),
                        beta,
                        c,
                        value(ldc)};
  make(real, product, [&] {
    reinterpret_cast<FortranGemm<Int>>(real.address)(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, length_a,
                                                     length_b);
  });
}

template <class Scalar>
using CblasGemm = void (*)(int, int, int, Word, Word, Word, Scalar, const void*, Word, const void*, Word, Scalar, void*, Word);

template <class Int, class Scalar>
void cblas_gemm(Routine routine, const void* caller, int order, int transa, int transb, Word m, Word n, Word k, Scalar alpha,
                const void* a, Word lda, const void* b, Word ldb, Scalar beta, void* c, Word ldc) {
  const Real& real = real_routine(routine, caller);
  const auto value = [&real](Word word) { return value_of<Int>(real, word); };
  const Product product{type_of(routine),
                        order,
                        cblas_transpose(transa),
                        cblas_transpose(transb),
                        value(m),
                        value(n),
                        value(k),
                        address_of(alpha),
                        a,
                        value(lda),
                        b,
                        value(ldb),
                        address_of(beta),
                        c,
                        value(ldc)};
  make(real, product, [&] {
    reinterpret_cast<CblasGemm<Scalar>>(real.address)(order, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  });
}

}  // namespace
}  // namespace ozfp4::exec

using namespace ozfp4::exec;  // of the definitions below alone

#define OZFP4_EXPORT extern "C" __attribute__((visibility("default")))
#define OZFP4_SCALAR_s float
#define OZFP4_SCALAR_d double
#define OZFP4_SCALAR_c const void*
#define OZFP4_SCALAR_z const void*

#define OZFP4_FORTRAN_GEMM(name, letter, Int)                                                                                   \
  OZFP4_EXPORT void name(const char* transa, const char* transb, const Int* m, const Int* n, const Int* k, const void* alpha,   \
                         const void* a, const Int* lda, const void* b, const Int* ldb, const void* beta, void* c,               \
                         const Int* ldc, std::size_t length_a, std::size_t length_b) {                                          \
    fortran_gemm<Int>(Routine::name, __builtin_return_address(0), transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, \
                      length_a, length_b);                                                                                      \
  }
#define OZFP4_CBLAS_GEMM(name, letter, Int)                                                                                      \
  OZFP4_EXPORT void name(int order, int transa, int transb, Word m, Word n, Word k, OZFP4_SCALAR_##letter alpha, const void* a,  \
                         Word lda, const void* b, Word ldb, OZFP4_SCALAR_##letter beta, void* c, Word ldc) {                     \
    cblas_gemm<Int, OZFP4_SCALAR_##letter>(Routine::name, __builtin_return_address(0), order, transa, transb, m, n, k, alpha, a, \
                                           lda, b, ldb, beta, c, ldc);                                                           \
  }

OZFP4_ALL_FORTRAN_NAMES(OZFP4_FORTRAN_GEMM)
OZFP4_ALL_CBLAS_NAMES(OZFP4_CBLAS_GEMM)
