// ozfp4_igemm and its like: exact products of integers, modulo 2^w of the result's type or modulo a number.
#include "product/integers.hpp"

#include "c_api/arguments.hpp"
#include "c_api/options.hpp"
#include "c_api/status.hpp"
#include "product/cpu/product.hpp"

namespace ozfp4::c_api {
namespace {

// The arguments of ozfp4_igemm; `modulus`: that of ozfp4_gemm_mod, else 0.
struct IntegerCall {
  GivenProduct product;
  std::int64_t alpha, beta, modulus = 0;
};

GivenMatrix integers(const char* name, ozfp4_type type, const void* data, std::int64_t leading) {
  return {integer_type(name, type), data, leading};
}

std::int64_t check_modulus(std::int64_t modulus) {
  if (modulus < 1) refuse("modulus: " + std::to_string(modulus) + " is less than 1");
  return modulus;
}

IntegerSum to_sum(const IntegerCall& call, const CallOptions& options) {
  const IntegerSum sum{product_of(call.product, take_sides(call.product, call.alpha == 0)), call.alpha, call.beta, call.modulus};
  const char* const counts = options.raises ? "overflow" : options.overflows != nullptr ? "overflows" : nullptr;
  if (counts != nullptr && (sum.has_factors() || sum.modulus != 0)) {
    refuse_option(Fault::unsupported, counts, "it is for alpha = 1 and beta = 0, and not for products modulo a number");
  }
  return sum;
}

void multiply(const IntegerCall& call, const ozfp4_options* given) {
  const CallOptions options = read_options(given, Entries::integers, Unit::cpu);
  const IntegersRan ran = multiply_integers(to_sum(call, options), options, options.given.report != nullptr);
  write_report(options, ran, ran.word_bits, ran.overflows);
}

void multiply(const IntegerCall& call, const ozfp4_options* given, const DevicePlace& place) {
  const CallOptions options = read_options(given, Entries::integers, Unit::gpu);
  enqueue_integers(to_sum(call, options), options, place);
}

}  // namespace
}  // namespace ozfp4::c_api

using namespace ozfp4::c_api;  // of the definitions below alone

// The calls of functions below, from their arguments.
#define OZFP4_INTEGERS(type_c)                                                                              \
  GivenProduct {                                                                                            \
    order, transa, transb, m, n, k, integers("type_a", type_a, a, lda), integers("type_b", type_b, b, ldb), \
        integers("type_c", type_c, c, ldc)                                                                  \
  }
#define OZFP4_IGEMM \
  IntegerCall { OZFP4_INTEGERS(type_c), alpha, beta }
#define OZFP4_GEMM_MOD \
  IntegerCall { OZFP4_INTEGERS(OZFP4_INT64), 1, 0, check_modulus(modulus) }

// The functions of given types are the general one.
#define OZFP4_TYPED(name, T, kType, Result, kResult)                                                                           \
  ozfp4_status ozfp4_gemm_##name(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, Result alpha, const T* a, \
                                 int64_t lda, const T* b, int64_t ldb, Result beta, Result* c, int64_t ldc,                    \
                                 const ozfp4_options* options) {                                                               \
    return ozfp4_igemm(order, transa, transb, m, n, k, alpha, kType, a, lda, kType, b, ldb, beta, kResult, c, ldc, options);   \
  }                                                                                                                            \
  ozfp4_status ozfp4_cuda_gemm_##name(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, Result alpha,        \
                                      const T* a, int64_t lda, const T* b, int64_t ldb, Result beta, Result* c, int64_t ldc,   \
                                      void* workspace, int64_t workspace_bytes, void* stream, const ozfp4_options* options) {  \
    return ozfp4_cuda_igemm(order, transa, transb, m, n, k, alpha, kType, a, lda, kType, b, ldb, beta, kResult, c, ldc,        \
                            workspace, workspace_bytes, stream, options);                                                      \
  }

extern "C" {

ozfp4_status ozfp4_igemm(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, int64_t alpha, ozfp4_type type_a,
                         const void* a, int64_t lda, ozfp4_type type_b, const void* b, int64_t ldb, int64_t beta,
                         ozfp4_type type_c, void* c, int64_t ldc, const ozfp4_options* options) {
  return guarded([&] { multiply(OZFP4_IGEMM, options); });
}

ozfp4_status ozfp4_cuda_igemm(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, int64_t alpha,
                              ozfp4_type type_a, const void* a, int64_t lda, ozfp4_type type_b, const void* b, int64_t ldb,
                              int64_t beta, ozfp4_type type_c, void* c, int64_t ldc, void* workspace, int64_t workspace_bytes,
                              void* stream, const ozfp4_options* options) {
  return guarded([&] { multiply(OZFP4_IGEMM, options, place_of(workspace, workspace_bytes, stream)); });
}

ozfp4_status ozfp4_cuda_workspace_size_igemm(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, int64_t alpha,
                                             ozfp4_type type_a, const void* a, int64_t lda, ozfp4_type type_b, const void* b,
                                             int64_t ldb, int64_t beta, ozfp4_type type_c, const void* c, int64_t ldc,
                                             const ozfp4_options* options, int64_t* bytes) {
  return guarded([&] {
    const DevicePlace place = size_into(bytes, a, b, c);
    multiply(OZFP4_IGEMM, options, place);
  });
}

OZFP4_TYPED(i8i8i32, int8_t, OZFP4_INT8, int32_t, OZFP4_INT32)
OZFP4_TYPED(i32i32i64, int32_t, OZFP4_INT32, int64_t, OZFP4_INT64)
OZFP4_TYPED(i64i64i64, int64_t, OZFP4_INT64, int64_t, OZFP4_INT64)

ozfp4_status ozfp4_gemm_mod(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, ozfp4_type type_a, const void* a,
                            int64_t lda, ozfp4_type type_b, const void* b, int64_t ldb, int64_t modulus, int64_t* c, int64_t ldc,
                            const ozfp4_options* options) {
  return guarded([&] { multiply(OZFP4_GEMM_MOD, options); });
}

ozfp4_status ozfp4_cuda_gemm_mod(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, ozfp4_type type_a,
                                 const void* a, int64_t lda, ozfp4_type type_b, const void* b, int64_t ldb, int64_t modulus,
                                 int64_t* c, int64_t ldc, void* workspace, int64_t workspace_bytes, void* stream,
                                 const ozfp4_options* options) {
  return guarded([&] { multiply(OZFP4_GEMM_MOD, options, place_of(workspace, workspace_bytes, stream)); });
}

ozfp4_status ozfp4_cuda_workspace_size_gemm_mod(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                                ozfp4_type type_a, const void* a, int64_t lda, ozfp4_type type_b, const void* b,
                                                int64_t ldb, int64_t modulus, const int64_t* c, int64_t ldc,
                                                const ozfp4_options* options, int64_t* bytes) {
  return guarded([&] {
    const DevicePlace place = size_into(bytes, a, b, c);
    multiply(OZFP4_GEMM_MOD, options, place);
  });
}

}  // extern "C"
