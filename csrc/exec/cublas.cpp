// cublas?gemm, their batches, and the Ex functions, with types as arguments.
#include <cstdint>

#include "exec/bypass.hpp"
#include "exec/record.hpp"
#include "exec/serve_gpu.hpp"

namespace ozfp4::exec::cublas {
namespace {

// `forward` calls the real function with the very arguments.
template <class Forward>
Status run(const Real& real, Handle handle, const Product& product, const Forward& forward) {
  if (bypass_depth > 0) return forward();
  Status status = success;
  const Reason reason = serve_or_leave(real, handle, product, &status);
  if (is_caught(reason)) return status;
  const CountedCall counted(kind_of(real.routine, product, reason));
  const Bypass bypass;
  return forward();
}

Product product_of(Type type, int transa, int transb, std::int64_t m, std::int64_t n, std::int64_t k, const void* alpha,
                   const void* a, std::int64_t lda, const void* b, std::int64_t ldb, const void* beta, void* c,
                   std::int64_t ldc) {
  Product p;
  p.type = type;
  p.transpose_a = transpose_of(transa), p.transpose_b = transpose_of(transb);
  p.m = m, p.n = n, p.k = k;
  p.alpha = alpha, p.a = a, p.lda = lda, p.b = b, p.ldb = ldb, p.beta = beta, p.c = c, p.ldc = ldc;
  return p;
}

}  // namespace
}  // namespace ozfp4::exec::cublas

using namespace ozfp4::exec;  // of the definitions below alone
using namespace ozfp4::exec::cublas;

#define OZFP4_EXPORT extern "C" __attribute__((visibility("default")))
#define OZFP4_REAL(name) const Real& real = real_routine(Routine::name, __builtin_return_address(0))

#define OZFP4_GEMM(name, letter, Int)                                                                                           \
  OZFP4_EXPORT Status name(Handle handle, int transa, int transb, Int m, Int n, Int k, const void* alpha, const void* a,        \
                           Int lda, const void* b, Int ldb, const void* beta, void* c, Int ldc) {                               \
    OZFP4_REAL(name);                                                                                                           \
    return run(real, handle, product_of(type_of(Routine::name), transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc),  \
               [&] {                                                                                                            \
                 return reinterpret_cast<decltype(&name)>(real.address)(handle, transa, transb, m, n, k, alpha, a, lda, b, ldb, \
                                                                        beta, c, ldc);                                          \
               });                                                                                                              \
  }
OZFP4_OF_ALL_TYPES(OZFP4_CUBLAS_GEMM_NAMES, OZFP4_GEMM)

#define OZFP4_STRIDED(name, letter, Int)                                                                                       \
  OZFP4_EXPORT Status name(Handle handle, int transa, int transb, Int m, Int n, Int k, const void* alpha, const void* a,       \
                           Int lda, long long stride_a, const void* b, Int ldb, long long stride_b, const void* beta, void* c, \
                           Int ldc, long long stride_c, Int batch) {                                                           \
    OZFP4_REAL(name);                                                                                                          \
    Product p = product_of(type_of(Routine::name), transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);              \
    p.batch = batch, p.stride_a = stride_a, p.stride_b = stride_b, p.stride_c = stride_c;                                      \
    return run(real, handle, p, [&] {                                                                                          \
      return reinterpret_cast<decltype(&name)>(real.address)(handle, transa, transb, m, n, k, alpha, a, lda, stride_a, b, ldb, \
                                                             stride_b, beta, c, ldc, stride_c, batch);                         \
    });                                                                                                                        \
  }
OZFP4_OF_ALL_TYPES(OZFP4_CUBLAS_STRIDED_NAMES, OZFP4_STRIDED)

#define OZFP4_EX(name, letter, Int)                                                                                             \
  OZFP4_EXPORT Status name(Handle handle, int transa, int transb, Int m, Int n, Int k, const void* alpha, const void* a,        \
                           int type_a, Int lda, const void* b, int type_b, Int ldb, const void* beta, void* c, int type_c,      \
                           Int ldc, int compute, int algorithm) {                                                               \
    OZFP4_REAL(name);                                                                                                           \
    const Type type = type_of(type_a, type_b, type_c, compute);                                                                 \
    return run(real, handle, product_of(type, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc), [&] {              \
      return reinterpret_cast<decltype(&name)>(real.address)(handle, transa, transb, m, n, k, alpha, a, type_a, lda, b, type_b, \
                                                             ldb, beta, c, type_c, ldc, compute, algorithm);                    \
    });                                                                                                                         \
  }
OZFP4_ALL_EX_NAMES(OZFP4_EX)

#define OZFP4_STRIDED_EX(name, letter, Int)                                                                                    \
  OZFP4_EXPORT Status name(Handle handle, int transa, int transb, Int m, Int n, Int k, const void* alpha, const void* a,       \
                           int type_a, Int lda, long long stride_a, const void* b, int type_b, Int ldb, long long stride_b,    \
                           const void* beta, void* c, int type_c, Int ldc, long long stride_c, Int batch, int compute,         \
                           int algorithm) {                                                                                    \
    OZFP4_REAL(name);                                                                                                          \
    const Type type = type_of(type_a, type_b, type_c, compute);                                                                \
    Product p = product_of(type, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                                \
    p.batch = batch, p.stride_a = stride_a, p.stride_b = stride_b, p.stride_c = stride_c;                                      \
    return run(real, handle, p, [&] {                                                                                          \
      return reinterpret_cast<decltype(&name)>(real.address)(handle, transa, transb, m, n, k, alpha, a, type_a, lda, stride_a, \
                                                             b, type_b, ldb, stride_b, beta, c, type_c, ldc, stride_c, batch,  \
                                                             compute, algorithm);                                              \
    });                                                                                                                        \
  }
OZFP4_ALL_STRIDED_EX_NAMES(OZFP4_STRIDED_EX)
