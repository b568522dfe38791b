// ozfp4_cuda_?gemm and their batches: products of matrices on the current device.
#include "c_api/checked/status.hpp"
#include "c_api/cuda/call.hpp"
#include "c_api/cuda/enqueue.hpp"
#include "c_api/cuda/entry.hpp"
#include "product/gpu/sum.hpp"

namespace ozfp4::c_api {
namespace {

constexpr const char* kQuery = "ozfp4_cuda_workspace_size_gemm";
constexpr const char* kBatchedQuery = "ozfp4_cuda_workspace_size_strided_batched";

void run(const GemmCall& call, const Place& place, const char* query, const ozfp4_options* given) {
  const CallOptions options = read_device_options(given);
  enqueue(call, check_device_gemm(call, options), options, {}, place, query);
}

// At most that of whatever call there is of these extents. Pointers and leading dimensions of the call are not looked at.
std::int64_t workspace_bytes(GemmCall call, const ozfp4_options* given) {
  const CallOptions options = read_device_options(given);
  place_anywhere(call);
  if (!check_device_gemm(call, options).is_there()) return 0;
  return most_bytes(widest(call, options), options, {});
}

// That of this call.
std::int64_t own_workspace_bytes(const GemmCall& call, const ozfp4_options* given) {
  const CallOptions options = read_device_options(given);
  const BatchedProduct product = check_device_gemm(call, options);
  check_addresses(call, options);
  if (!product.is_there()) return 0;
  std::int64_t bytes = 0;
  on_device([&] { bytes = find_sum(product, options, no_stream()).places.bytes; });
  return bytes;
}

}  // namespace
}  // namespace ozfp4::c_api

using namespace ozfp4::c_api;  // of the definitions below alone

#define OZFP4_CUDA_GEMM(letter, T, Factor, alpha_of, beta_of, kType)                                                             \
  ozfp4_status ozfp4_cuda_##letter##gemm(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, Factor alpha,       \
                                         const T* a, int64_t lda, const T* b, int64_t ldb, Factor beta, T* c, int64_t ldc,       \
                                         void* workspace, int64_t workspace_bytes, void* stream, const ozfp4_options* options) { \
    return guarded([&] {                                                                                                         \
      const GivenMatrix left{a, lda, 0, false}, right{b, ldb, 0, false};                                                         \
      run({kType, order, transa, transb, m, n, k, alpha_of, beta_of, left, right, c, ldc, 0, 1},                                 \
          place_of(workspace, workspace_bytes, stream), kQuery, options);                                                        \
    });                                                                                                                          \
  }                                                                                                                              \
  ozfp4_status ozfp4_cuda_##letter##gemm_strided_batched(                                                                        \
      int order, int transa, int transb, int64_t m, int64_t n, int64_t k, Factor alpha, const T* a, int64_t lda,                 \
      int64_t stride_a, const T* b, int64_t ldb, int64_t stride_b, Factor beta, T* c, int64_t ldc, int64_t stride_c,             \
      int64_t batch, void* workspace, int64_t workspace_bytes, void* stream, const ozfp4_options* options) {                     \
    return guarded([&] {                                                                                                         \
      const GivenMatrix left{a, lda, stride_a, false}, right{b, ldb, stride_b, false};                                           \
      run({kType, order, transa, transb, m, n, k, alpha_of, beta_of, left, right, c, ldc, stride_c, batch},                      \
          place_of(workspace, workspace_bytes, stream), kBatchedQuery, options);                                                 \
    });                                                                                                                          \
  }

#define OZFP4_REAL(name) check_factor(#name, static_cast<double>(name))

extern "C" {

int ozfp4_has_cuda(void) { return 1; }

ozfp4_status ozfp4_cuda_workspace_size(ozfp4_type type, int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                       const ozfp4_options* options, int64_t* bytes) {
  return guarded([&] {
    check_pointer("bytes", bytes, true);
    *bytes =
        workspace_bytes({float_type("type", type), order, transa, transb, m, n, k, 1.0, 0.0, {}, {}, nullptr, 0, 0, 1}, options);
  });
}

ozfp4_status ozfp4_cuda_workspace_size_gemm(ozfp4_type type, int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                            const void* alpha, const void* a, int64_t lda, const void* b, int64_t ldb,
                                            const void* beta, const void* c, int64_t ldc, const ozfp4_options* options,
                                            int64_t* bytes) {
  return guarded([&] {
    check_pointer("bytes", bytes, true);
    const EntryType own = float_type("type", type);
    const std::complex<double> by = check_factor("alpha", alpha, own), of_c = check_factor("beta", beta, own);
    const GivenMatrix left{a, lda, 0, false}, right{b, ldb, 0, false};
    *bytes = own_workspace_bytes({own, order, transa, transb, m, n, k, by, of_c, left, right, const_cast<void*>(c), ldc, 0, 1},
                                 options);
  });
}

ozfp4_status ozfp4_cuda_workspace_size_strided_batched(ozfp4_type type, int order, int transa, int transb, int64_t m, int64_t n,
                                                       int64_t k, int64_t stride_a, int64_t stride_b, int64_t batch,
                                                       const ozfp4_options* options, int64_t* bytes) {
  return guarded([&] {
    check_pointer("bytes", bytes, true);
    const GivenMatrix a{nullptr, 0, stride_a, false}, b{nullptr, 0, stride_b, false};
    *bytes = workspace_bytes({float_type("type", type), order, transa, transb, m, n, k, 1.0, 0.0, a, b, nullptr, 0, 1, batch},
                             options);
  });
}

OZFP4_CUDA_GEMM(d, double, double, OZFP4_REAL(alpha), OZFP4_REAL(beta), kD)
OZFP4_CUDA_GEMM(s, float, float, OZFP4_REAL(alpha), OZFP4_REAL(beta), kS)
OZFP4_CUDA_GEMM(z, void, const void*, check_factor("alpha", alpha, kZ), check_factor("beta", beta, kZ), kZ)
OZFP4_CUDA_GEMM(c, void, const void*, check_factor("alpha", alpha, kC), check_factor("beta", beta, kC), kC)

}  // extern "C"
