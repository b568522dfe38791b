// The CPU's ?syrk and ?herk: every name of the table as a function that stands before the real one.
#include "exec/entry_points.hpp"

namespace ozfp4::exec {
namespace {

template <class Int>
using FortranRankK = void (*)(const char*, const char*, const Int*, const Int*, const void*, const void*, const Int*, const void*,
                              void*, const Int*, std::size_t, std::size_t);

// The product with the factors that its type has: those of ?herk are numbers of its part's type, Part; of others Part is void.
template <class Part, class Use>
void with_factors(const void* alpha, const void* beta, const Use& use) {
  if constexpr (std::is_void_v<Part>) {
    use(alpha, beta);
  } else {
    const Part own_alpha[2] = {*static_cast<const Part*>(alpha), 0}, own_beta[2] = {*static_cast<const Part*>(beta), 0};
    use(own_alpha, own_beta);
  }
}

template <class Part, class Int>
void fortran_rank_k(Routine routine, const void* caller, const char* triangle, const char* trans, const Int* n, const Int* k,
                    const void* alpha, const void* a, const Int* lda, const void* beta, void* c, const Int* ldc,
                    std::size_t length_triangle, std::size_t length_trans) {
  const Real& real = real_routine(routine, caller);
  const auto value = [&real](const Int* at) { return value_of(real, at); };
  const Type type = type_of(routine);
  with_factors<Part>(alpha, beta, [&](const void* own_alpha, const void* own_beta) {
    const Product product =
        triangle_of(type, !std::is_void_v<Part>, column_major, fortran_triangle(*triangle), fortran_transpose(*trans), value(n),
                    value(k), own_alpha, a, value(lda), own_beta, c, value(ldc));
    make(real, product, [&] {
      reinterpret_cast<FortranRankK<Int>>(real.address)(triangle, trans, n, k, alpha, a, lda, beta, c, ldc, length_triangle,
                                                        length_trans);
    });
  });
}

template <class Scalar>
using CblasRankK = void (*)(int, int, int, Word, Word, Scalar, const void*, Word, Scalar, void*, Word);

template <class Part, class Int, class Scalar>
void cblas_rank_k(Routine routine, const void* caller, int order, int triangle, int trans, Word n, Word k, Scalar alpha,
                  const void* a, Word lda, Scalar beta, void* c, Word ldc) {
  const Real& real = real_routine(routine, caller);
  const auto value = [&real](Word word) { return value_of<Int>(real, word); };
  const Type type = type_of(routine);
  with_factors<Part>(address_of(alpha), address_of(beta), [&](const void* own_alpha, const void* own_beta) {
    const Product product = triangle_of(type, !std::is_void_v<Part>, order, triangle, cblas_transpose(trans), value(n), value(k),
                                        own_alpha, a, value(lda), own_beta, c, value(ldc));
    make(real, product,
         [&] { reinterpret_cast<CblasRankK<Scalar>>(real.address)(order, triangle, trans, n, k, alpha, a, lda, beta, c, ldc); });
  });
}

}  // namespace
}  // namespace ozfp4::exec

using namespace ozfp4::exec;  // of the definitions below alone

#define OZFP4_EXPORT extern "C" __attribute__((visibility("default")))
#define OZFP4_SYRK_s float
#define OZFP4_SYRK_d double
#define OZFP4_SYRK_c const void*
#define OZFP4_SYRK_z const void*
#define OZFP4_HERK_c float
#define OZFP4_HERK_z double

#define OZFP4_FORTRAN_RANK_K(name, Part, Int)                                                                                   \
  OZFP4_EXPORT void name(const char* triangle, const char* trans, const Int* n, const Int* k, const void* alpha, const void* a, \
                         const Int* lda, const void* beta, void* c, const Int* ldc, std::size_t length,                         \
                         std::size_t length_trans) {                                                                            \
    fortran_rank_k<Part, Int>(Routine::name, __builtin_return_address(0), triangle, trans, n, k, alpha, a, lda, beta, c, ldc,   \
                              length, length_trans);                                                                            \
  }
#define OZFP4_CBLAS_RANK_K(name, Part, Int, Scalar)                                                                              \
  OZFP4_EXPORT void name(int order, int triangle, int trans, Word n, Word k, Scalar alpha, const void* a, Word lda, Scalar beta, \
                         void* c, Word ldc) {                                                                                    \
    cblas_rank_k<Part, Int, Scalar>(Routine::name, __builtin_return_address(0), order, triangle, trans, n, k, alpha, a, lda,     \
                                    beta, c, ldc);                                                                               \
  }
#define OZFP4_FORTRAN_SYRK(name, letter, Int) OZFP4_FORTRAN_RANK_K(name, void, Int)
#define OZFP4_FORTRAN_HERK(name, letter, Int) OZFP4_FORTRAN_RANK_K(name, OZFP4_HERK_##letter, Int)
#define OZFP4_CBLAS_SYRK(name, letter, Int) OZFP4_CBLAS_RANK_K(name, void, Int, OZFP4_SYRK_##letter)
#define OZFP4_CBLAS_HERK(name, letter, Int) OZFP4_CBLAS_RANK_K(name, OZFP4_HERK_##letter, Int, OZFP4_HERK_##letter)

OZFP4_ALL_FORTRAN_SYRK_NAMES(OZFP4_FORTRAN_SYRK)
OZFP4_ALL_FORTRAN_HERK_NAMES(OZFP4_FORTRAN_HERK)
OZFP4_ALL_CBLAS_SYRK_NAMES(OZFP4_CBLAS_SYRK)
OZFP4_ALL_CBLAS_HERK_NAMES(OZFP4_CBLAS_HERK)
