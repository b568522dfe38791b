// The CPU's matrix products: every name of the table as a function that stands before the real one.
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "interpose/call/attempt.hpp"
#include "interpose/call/bypass.hpp"
#include "interpose/call/serve.hpp"
#include "interpose/symbols/real.hpp"

namespace ozfp4::interpose {
namespace {

// ---- Fortran -------------------------------------------------------------------------------------------------------------

// The lengths of the two strings come last, from callers that pass them; from others they are whatever is there, and whoever does
// not read them does not care.
template <class Int>
using FortranGemm = void (*)(const char*, const char*, const Int*, const Int*, const Int*, const void*, const void*, const Int*,
                             const void*, const Int*, const void*, void*, const Int*, std::size_t, std::size_t);

// 0 for what is none of BLAS's.
int fortran_transpose(char letter) {
  switch (std::toupper(static_cast<unsigned char>(letter))) {
    case 'N': return no_transpose;
    case 'T': return transpose;
    case 'C': return conjugate_transpose;
    default: return 0;
  }
}

template <class Int>
void call_fortran(const void* context, const Product& p) {
  const auto letter = [](int transposed) { return transposed == no_transpose ? 'N' : transposed == transpose ? 'T' : 'C'; };
  const char a = letter(p.transpose_a), b = letter(p.transpose_b);
  // As wide as any, so that a library with 64-bit integers under the usual names reads them as well (little-endian).
  const std::int64_t m = p.m, n = p.n, k = p.k, lda = p.lda, ldb = p.ldb, ldc = p.ldc;
  const auto pass = [](const std::int64_t& x) { return reinterpret_cast<const Int*>(&x); };
  reinterpret_cast<FortranGemm<Int>>(const_cast<void*>(context))(&a, &b, pass(m), pass(n), pass(k), p.alpha, p.a, pass(lda), p.b,
                                                                 pass(ldb), p.beta, p.c, pass(ldc), 1, 1);
}

// In the place of a routine that nobody has: what ozfp4 does not make, nobody does.
void multiply_alone(Routine routine, const Product& product) {
  std::int64_t repaired = 0;
  if (serve(product, nullptr, &repaired) != Reason::always) end_without(routine);
}

template <Routine routine, class Int>
void own_fortran(const char* transa, const char* transb, const Int* m, const Int* n, const Int* k, const void* alpha,
                 const void* a, const Int* lda, const void* b, const Int* ldb, const void* beta, void* c, const Int* ldc,
                 std::size_t, std::size_t) {
  multiply_alone(routine, {type_of(routine), column_major, fortran_transpose(*transa), fortran_transpose(*transb), *m, *n, *k,
                           alpha, a, *lda, b, *ldb, beta, c, *ldc});
}

template <class Int>
void fortran_gemm(Routine routine, const void* caller, void* own, const char* transa, const char* transb, const Int* m,
                  const Int* n, const Int* k, const void* alpha, const void* a, const Int* lda, const void* b, const Int* ldb,
                  const void* beta, void* c, const Int* ldc, std::size_t length_a, std::size_t length_b) {
  const Real& real = real_routine(routine, caller, own);
  const auto function = reinterpret_cast<FortranGemm<Int>>(real.address);
  const auto forward = [&] { function(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, length_a, length_b); };
  if (bypass_depth > 0) return forward();
  const auto value = [&real](const Int* at) -> std::int64_t {
    return real.is_64_bit ? *reinterpret_cast<const std::int64_t*>(at) : *at;
  };
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
  Attempt attempt(real, product);
  if (!is_valid(product)) {
    attempt.refused();
    return forward();
  }
  if (attempt.is_served({call_fortran<Int>, real.address, real.library})) return;
  {
    const Bypass bypass;
    forward();
  }
  attempt.left();
}

// ---- CBLAS ---------------------------------------------------------------------------------------------------------------

// Integers are declared as wide as the registers and places on the stack that they come in (x86-64 and AArch64), and go on as
// they came: whether the real routine reads 32 or 64 bits of them is its own affair.
using Word = std::int64_t;
template <class Scalar>
using CblasGemm = void (*)(int, int, int, Word, Word, Word, Scalar, const void*, Word, const void*, Word, Scalar, void*, Word);

template <class Scalar>
Scalar scalar_at(const void* at) {
  if constexpr (std::is_pointer_v<Scalar>) {
    return at;
  } else {
    return *static_cast<const Scalar*>(at);
  }
}

template <class Scalar>
const void* address_of(const Scalar& scalar) {
  if constexpr (std::is_pointer_v<Scalar>) {
    return scalar;
  } else {
    return &scalar;
  }
}

template <class Scalar>
void call_cblas(const void* context, const Product& p) {
  reinterpret_cast<CblasGemm<Scalar>>(const_cast<void*>(context))(p.order, p.transpose_a, p.transpose_b, p.m, p.n, p.k,
                                                                  scalar_at<Scalar>(p.alpha), p.a, p.lda, p.b, p.ldb,
                                                                  scalar_at<Scalar>(p.beta), p.c, p.ldc);
}

int cblas_transpose(int value) { return value >= no_transpose && value <= conjugate_transpose ? value : 0; }

template <Routine routine, class Int, class Scalar>
void own_cblas(int order, int transa, int transb, Word m, Word n, Word k, Scalar alpha, const void* a, Word lda, const void* b,
               Word ldb, Scalar beta, void* c, Word ldc) {
  const auto value = [](Word word) { return static_cast<Word>(static_cast<Int>(word)); };
  multiply_alone(routine, {type_of(routine), order, cblas_transpose(transa), cblas_transpose(transb), value(m), value(n),
                           value(k), address_of(alpha), a, value(lda), b, value(ldb), address_of(beta), c, value(ldc)});
}

template <class Int, class Scalar>
void cblas_gemm(Routine routine, const void* caller, void* own, int order, int transa, int transb, Word m, Word n, Word k,
                Scalar alpha, const void* a, Word lda, const void* b, Word ldb, Scalar beta, void* c, Word ldc) {
  const Real& real = real_routine(routine, caller, own);
  const auto function = reinterpret_cast<CblasGemm<Scalar>>(real.address);
  const auto forward = [&] { function(order, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc); };
  if (bypass_depth > 0) return forward();
  const auto value = [&real](Word word) { return real.is_64_bit ? word : static_cast<Word>(static_cast<Int>(word)); };
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
  Attempt attempt(real, product);
  if (!is_valid(product)) {
    attempt.refused();
    return forward();
  }
  if (attempt.is_served({call_cblas<Scalar>, real.address, real.library})) return;
  {
    const Bypass bypass;
    forward();
  }
  attempt.left();
}

}  // namespace
}  // namespace ozfp4::interpose

using namespace ozfp4::interpose;  // of the definitions below alone

#define OZFP4_EXPORT extern "C" __attribute__((visibility("default")))
#define OZFP4_SCALAR_s float
#define OZFP4_SCALAR_d double
#define OZFP4_SCALAR_c const void*
#define OZFP4_SCALAR_z const void*

#define OZFP4_FORTRAN_GEMM(name, letter, Int)                                                                                   \
  OZFP4_EXPORT void name(const char* transa, const char* transb, const Int* m, const Int* n, const Int* k, const void* alpha,   \
                         const void* a, const Int* lda, const void* b, const Int* ldb, const void* beta, void* c,               \
                         const Int* ldc, std::size_t length_a, std::size_t length_b) {                                          \
    const auto own = reinterpret_cast<void*>(&own_fortran<Routine::name, Int>);                                                 \
    fortran_gemm<Int>(Routine::name, __builtin_return_address(0), own, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, \
                      ldc, length_a, length_b);                                                                                 \
  }
#define OZFP4_CBLAS_GEMM(name, letter, Int)                                                                                     \
  OZFP4_EXPORT void name(int order, int transa, int transb, Word m, Word n, Word k, OZFP4_SCALAR_##letter alpha, const void* a, \
                         Word lda, const void* b, Word ldb, OZFP4_SCALAR_##letter beta, void* c, Word ldc) {                    \
    const auto own = reinterpret_cast<void*>(&own_cblas<Routine::name, Int, OZFP4_SCALAR_##letter>);                            \
    cblas_gemm<Int, OZFP4_SCALAR_##letter>(Routine::name, __builtin_return_address(0), own, order, transa, transb, m, n, k,     \
                                           alpha, a, lda, b, ldb, beta, c, ldc);                                                \
  }

OZFP4_ALL_FORTRAN_NAMES(OZFP4_FORTRAN_GEMM)
OZFP4_ALL_CBLAS_NAMES(OZFP4_CBLAS_GEMM)

// How many bypasses the calling thread is in, for other copies of the core in the process (ozfp4's extension for Python), whose
// plane products go to the BLAS that we stand before.
OZFP4_EXPORT int* ozfp4_blas_bypass() { return &bypass_depth; }
