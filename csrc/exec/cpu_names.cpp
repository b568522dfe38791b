// The CPU's routines: every name of the table as a function that stands before the real one.
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "exec/serve_cpu.hpp"

namespace ozfp4::exec {
namespace {

// Integers of CBLAS, as wide as the registers and places on the stack that they come in (x86-64 and AArch64). They go on as they
// came: whether the real routine reads 32 or 64 bits of them is its own affair.
using Word = std::int64_t;

// The value that the real routine reads from integers of the name's width.
template <class Int>
struct Integers {
  const bool is_64_bit;
  std::int64_t operator()(const Int* at) const { return is_64_bit ? *reinterpret_cast<const std::int64_t*>(at) : *at; }
  std::int64_t operator()(Word word) const { return is_64_bit ? word : static_cast<Int>(word); }
};

// One of `letters`, as a number from `first` on; 0 for what is none of BLAS's.
int value_of(const char* letter, const char* letters, int first) {
  const char* at = std::strchr(letters, std::toupper(static_cast<unsigned char>(*letter)));
  return at && *at ? first + static_cast<int>(at - letters) : 0;
}
int transpose_of(const char* letter) { return value_of(letter, "NTC", no_transpose); }
int transpose_of(int value) { return value >= no_transpose && value <= conjugate_transpose ? value : 0; }
int triangle_of(const char* letter) { return value_of(letter, "UL", upper_triangle); }

const void* address_of(const void* scalar) { return scalar; }
const void* address_of(const float& scalar) { return &scalar; }
const void* address_of(const double& scalar) { return &scalar; }

}  // namespace
}  // namespace ozfp4::exec

using namespace ozfp4::exec;  // of the definitions below alone

// Factors in CBLAS.
#define OZFP4_SCALAR_s float
#define OZFP4_SCALAR_d double
#define OZFP4_SCALAR_c const void*
#define OZFP4_SCALAR_z const void*
#define OZFP4_REAL_c float
#define OZFP4_REAL_z double

// The lengths of the two strings come last, from callers that pass them; from others they are whatever is there, and whoever does
// not read them does not care.
#define OZFP4_FORTRAN_GEMM(name, letter, Int)                                                                                    \
  OZFP4_EXPORT void name(const char* transa, const char* transb, const Int* m, const Int* n, const Int* k, const void* alpha,    \
                         const void* a, const Int* lda, const void* b, const Int* ldb, const void* beta, void* c,                \
                         const Int* ldc, std::size_t length_a, std::size_t length_b) {                                           \
    OZFP4_REAL(name);                                                                                                            \
    const Integers<Int> of{real.is_64_bit};                                                                                      \
    const Product product = gemm_of(type_of(#letter[0]), column_major, transpose_of(transa), transpose_of(transb), of(m), of(n), \
                                    of(k), alpha, a, of(lda), b, of(ldb), beta, c, of(ldc));                                     \
    call<void>(real, product, Cpu(), transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, length_a, length_b);          \
  }
#define OZFP4_CBLAS_GEMM(name, letter, Int)                                                                                      \
  OZFP4_EXPORT void name(int order, int transa, int transb, Word m, Word n, Word k, OZFP4_SCALAR_##letter alpha, const void* a,  \
                         Word lda, const void* b, Word ldb, OZFP4_SCALAR_##letter beta, void* c, Word ldc) {                     \
    OZFP4_REAL(name);                                                                                                            \
    const Integers<Int> of{real.is_64_bit};                                                                                      \
    const Product product = gemm_of(type_of(#letter[0]), order, transpose_of(transa), transpose_of(transb), of(m), of(n), of(k), \
                                    address_of(alpha), a, of(lda), b, of(ldb), address_of(beta), c, of(ldc));                    \
    call<void>(real, product, Cpu(), order, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                       \
  }
OZFP4_OF_ALL_TYPES(OZFP4_FORTRAN_NAMES, OZFP4_FORTRAN_GEMM, gemm)
OZFP4_OF_ALL_TYPES(OZFP4_CBLAS_NAMES, OZFP4_CBLAS_GEMM, gemm)

#define OZFP4_FORTRAN_RANK_K(name, letter, Int, is_hermitian)                                                                   \
  OZFP4_EXPORT void name(const char* triangle, const char* trans, const Int* n, const Int* k, const void* alpha, const void* a, \
                         const Int* lda, const void* beta, void* c, const Int* ldc, std::size_t length,                         \
                         std::size_t length_trans) {                                                                            \
    OZFP4_REAL(name);                                                                                                           \
    const Integers<Int> of{real.is_64_bit};                                                                                     \
    const Product product = triangle_of(type_of(#letter[0]), is_hermitian, column_major, triangle_of(triangle),                 \
                                        transpose_of(trans), of(n), of(k), alpha, a, of(lda), beta, c, of(ldc));                \
    call<void>(real, product, Cpu(), triangle, trans, n, k, alpha, a, lda, beta, c, ldc, length, length_trans);                 \
  }
#define OZFP4_CBLAS_RANK_K(name, letter, Int, is_hermitian, Scalar)                                                              \
  OZFP4_EXPORT void name(int order, int triangle, int trans, Word n, Word k, Scalar alpha, const void* a, Word lda, Scalar beta, \
                         void* c, Word ldc) {                                                                                    \
    OZFP4_REAL(name);                                                                                                            \
    const Integers<Int> of{real.is_64_bit};                                                                                      \
    const Product product = triangle_of(type_of(#letter[0]), is_hermitian, order, triangle, transpose_of(trans), of(n), of(k),   \
                                        address_of(alpha), a, of(lda), address_of(beta), c, of(ldc));                            \
    call<void>(real, product, Cpu(), order, triangle, trans, n, k, alpha, a, lda, beta, c, ldc);                                 \
  }
#define OZFP4_FORTRAN_SYRK(name, letter, Int) OZFP4_FORTRAN_RANK_K(name, letter, Int, false)
#define OZFP4_FORTRAN_HERK(name, letter, Int) OZFP4_FORTRAN_RANK_K(name, letter, Int, true)
#define OZFP4_CBLAS_SYRK(name, letter, Int) OZFP4_CBLAS_RANK_K(name, letter, Int, false, OZFP4_SCALAR_##letter)
#define OZFP4_CBLAS_HERK(name, letter, Int) OZFP4_CBLAS_RANK_K(name, letter, Int, true, OZFP4_REAL_##letter)
OZFP4_OF_ALL_TYPES(OZFP4_FORTRAN_NAMES, OZFP4_FORTRAN_SYRK, syrk)
OZFP4_OF_COMPLEX_TYPES(OZFP4_FORTRAN_NAMES, OZFP4_FORTRAN_HERK, herk)
OZFP4_OF_ALL_TYPES(OZFP4_CBLAS_NAMES, OZFP4_CBLAS_SYRK, syrk)
OZFP4_OF_COMPLEX_TYPES(OZFP4_CBLAS_NAMES, OZFP4_CBLAS_HERK, herk)
