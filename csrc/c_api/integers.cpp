// ozfp4_igemm and its like: exact products of integers, modulo 2^w of the result's type or modulo a number.
#include "c_api/checked/integers.hpp"

#include "c_api/checked/status.hpp"
#include "product/cpu/product.hpp"

namespace ozfp4::c_api {
namespace {

void run(const IntegerCall& call, const ozfp4_options* given) {
  const CallOptions options = read_integer_options(given);
  const IntegerSum sum = check_integers(call, options);
  write_report(options, multiply_integers(sum, options, options.report != nullptr));
}

}  // namespace
}  // namespace ozfp4::c_api

using namespace ozfp4;
using namespace ozfp4::c_api;  // of the definitions below alone

extern "C" {

ozfp4_status ozfp4_igemm(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, int64_t alpha, ozfp4_type type_a,
                         const void* a, int64_t lda, ozfp4_type type_b, const void* b, int64_t ldb, int64_t beta,
                         ozfp4_type type_c, void* c, int64_t ldc, const ozfp4_options* options) {
  return guarded([&] {
    c_api::run({order,
                transa,
                transb,
                m,
                n,
                k,
                alpha,
                beta,
                {integer_type("type_a", type_a), a, lda},
                {integer_type("type_b", type_b), b, ldb},
                {integer_type("type_c", type_c), c, ldc},
                0},
               options);
  });
}

ozfp4_status ozfp4_gemm_i8i8i32(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, int32_t alpha,
                                const int8_t* a, int64_t lda, const int8_t* b, int64_t ldb, int32_t beta, int32_t* c, int64_t ldc,
                                const ozfp4_options* options) {
  return ozfp4_igemm(order, transa, transb, m, n, k, alpha, OZFP4_INT8, a, lda, OZFP4_INT8, b, ldb, beta, OZFP4_INT32, c, ldc,
                     options);
}

ozfp4_status ozfp4_gemm_i32i32i64(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, int64_t alpha,
                                  const int32_t* a, int64_t lda, const int32_t* b, int64_t ldb, int64_t beta, int64_t* c,
                                  int64_t ldc, const ozfp4_options* options) {
  return ozfp4_igemm(order, transa, transb, m, n, k, alpha, OZFP4_INT32, a, lda, OZFP4_INT32, b, ldb, beta, OZFP4_INT64, c, ldc,
                     options);
}

ozfp4_status ozfp4_gemm_i64i64i64(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, int64_t alpha,
                                  const int64_t* a, int64_t lda, const int64_t* b, int64_t ldb, int64_t beta, int64_t* c,
                                  int64_t ldc, const ozfp4_options* options) {
  return ozfp4_igemm(order, transa, transb, m, n, k, alpha, OZFP4_INT64, a, lda, OZFP4_INT64, b, ldb, beta, OZFP4_INT64, c, ldc,
                     options);
}

ozfp4_status ozfp4_gemm_mod(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, ozfp4_type type_a, const void* a,
                            int64_t lda, ozfp4_type type_b, const void* b, int64_t ldb, int64_t modulus, int64_t* c, int64_t ldc,
                            const ozfp4_options* options) {
  return guarded([&] {
    c_api::run({order,
                transa,
                transb,
                m,
                n,
                k,
                1,
                0,
                {integer_type("type_a", type_a), a, lda},
                {integer_type("type_b", type_b), b, ldb},
                {ElementType::int64, c, ldc},
                check_modulus(modulus)},
               options);
  });
}

}  // extern "C"
