// ozfp4_?gemm, their batches, and products of operands that were prepared.
#include "c_api/checked/gemm.hpp"

#include <utility>

#include "c_api/checked/prepared.hpp"
#include "c_api/checked/status.hpp"
#include "product/cpu/product.hpp"

namespace ozfp4::c_api {
namespace {

struct Call {
  GemmCall gemm;
  const ozfp4_prepared *prepared_a, *prepared_b;  // null: not prepared
};

void run(const Call& call, const CallOptions& options) {
  Product product = product_of(check_gemm(call.gemm, options));
  const bool has_rows = is_row_major(call.gemm.order);
  for (const auto& [made, is_left] : {std::make_pair(call.prepared_a, has_rows), std::make_pair(call.prepared_b, !has_rows)}) {
    if (made == nullptr) continue;
    (is_left ? product.a : product.b).data = made->entries.get();
    (is_left ? product.prepared_a : product.prepared_b) = made;
  }
  Ran ran;
  multiply(product, options, ran);
  write_report(options, ran);
}

void run(const GemmCall& call, const ozfp4_options* options) { run({call, nullptr, nullptr}, read_options(options)); }

}  // namespace
}  // namespace ozfp4::c_api

using namespace ozfp4::c_api;  // of the definitions below alone

#define OZFP4_GEMM(letter, T, Factor, alpha_of, beta_of, kType)                                                             \
  ozfp4_status ozfp4_##letter##gemm(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, Factor alpha,       \
                                    const T* a, int64_t lda, const T* b, int64_t ldb, Factor beta, T* c, int64_t ldc,       \
                                    const ozfp4_options* options) {                                                         \
    return guarded([&] {                                                                                                    \
      run({kType, order, transa, transb, m, n, k, alpha_of, beta_of, {a, lda, 0, false}, {b, ldb, 0, false}, c, ldc, 0, 1}, \
          options);                                                                                                         \
    });                                                                                                                     \
  }                                                                                                                         \
  ozfp4_status ozfp4_##letter##gemm_strided_batched(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,     \
                                                    Factor alpha, const T* a, int64_t lda, int64_t stride_a, const T* b,    \
                                                    int64_t ldb, int64_t stride_b, Factor beta, T* c, int64_t ldc,          \
                                                    int64_t stride_c, int64_t batch, const ozfp4_options* options) {        \
    return guarded([&] {                                                                                                    \
      run({kType,                                                                                                           \
           order,                                                                                                           \
           transa,                                                                                                          \
           transb,                                                                                                          \
           m,                                                                                                               \
           n,                                                                                                               \
           k,                                                                                                               \
           alpha_of,                                                                                                        \
           beta_of,                                                                                                         \
           {a, lda, stride_a, false},                                                                                       \
           {b, ldb, stride_b, false},                                                                                       \
           c,                                                                                                               \
           ldc,                                                                                                             \
           stride_c,                                                                                                        \
           batch},                                                                                                          \
          options);                                                                                                         \
    });                                                                                                                     \
  }

#define OZFP4_REAL(name) check_factor(#name, static_cast<double>(name))

extern "C" {

OZFP4_GEMM(d, double, double, OZFP4_REAL(alpha), OZFP4_REAL(beta), kD)
OZFP4_GEMM(s, float, float, OZFP4_REAL(alpha), OZFP4_REAL(beta), kS)
OZFP4_GEMM(z, void, const void*, check_factor("alpha", alpha, kZ), check_factor("beta", beta, kZ), kZ)
OZFP4_GEMM(c, void, const void*, check_factor("alpha", alpha, kC), check_factor("beta", beta, kC), kC)

ozfp4_status ozfp4_gemm_prepared(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, const void* alpha,
                                 const void* a, int64_t lda, const ozfp4_prepared* prepared_a, const void* b, int64_t ldb,
                                 const ozfp4_prepared* prepared_b, const void* beta, void* c, int64_t ldc,
                                 const ozfp4_options* options) {
  return guarded([&] {
    const GivenMatrix left{a, lda, 0, prepared_a != nullptr}, right{b, ldb, 0, prepared_b != nullptr};
    const CallOptions read = read_options(options);
    const GemmCall call = check_prepared({kD, order, transa, transb, m, n, k, 0.0, 0.0, left, right, c, ldc, 0, 1}, prepared_a,
                                         prepared_b, alpha, beta);
    run({call, prepared_a, prepared_b}, options_of(read, prepared_a != nullptr ? *prepared_a : *prepared_b));
  });
}

}  // extern "C"
