// ozfp4_?gemm and their batches.
#include "c_api/gemm.hpp"

#include <algorithm>
#include <string>

#include "c_api/options.hpp"
#include "c_api/status.hpp"
#include "product/cpu/prepared.hpp"
#include "product/cpu/product.hpp"

namespace ozfp4::c_api {
namespace {

// Where bounds go, in entries of C from line to line and from matrix to matrix; a given 0 means no gap.
struct BoundStrides {
  std::int64_t line, matrix;

  BoundStrides(const ozfp4_options& given, const Sides& sides, std::int64_t batch)
      : line(given.ld_bound), matrix(given.stride_bound) {
    const std::int64_t least = std::max<std::int64_t>(sides.line, 1), lines = std::max<std::int64_t>(sides.lines, 1);
    if (line == 0) line = least;
    if (line < least) {
      refuse_option("ld_bound", std::to_string(line) + " is less than " + std::to_string(least) + ", the entries of a line");
    }
    if (line > kMostEntries / lines) {
      refuse_option("ld_bound", std::to_string(line) + " times lines = " + std::to_string(sides.lines) +
                                    " exceeds 2^48, the most entries of a matrix");
    }
    if (matrix == 0) matrix = lines * line;
    if (batch > 1 && matrix < 1) refuse_option("stride_bound", std::to_string(matrix) + " is less than 1");
  }
};

}  // namespace

Product to_product(const GemmCall& call, const CallOptions& options) {
  const Sides sides = take_sides(call.product, call.alpha == 0.0);
  const EntryType& type = call.product.c.type;
  const std::ptrdiff_t entry = type.bytes();
  Product product = product_of(call.product, sides);
  product.alpha = call.alpha;
  product.beta = call.beta;
  if (has_both_parts(product) && options.rounding != Rounding::nearest) {
    refuse_option("rounding",
                  "alpha or beta has a real and an imaginary part, so that A B is rounded before the sum; allowed is 'nearest'");
  }
  if (call.beta == 0.0) product.addend = {};
  Axis batch{call.product.batch};  // strides of no matrix are not checked
  if (batch.extent > 1) {
    batch.a = sides.given_left.stride * entry, batch.b = sides.given_right.stride * entry;
    batch.c = batch.addend = call.product.c.stride * entry;
  }
  if (const ozfp4_options& own = options.given; own.bound != nullptr) {
    const BoundStrides bound(own, sides, batch.extent);
    const std::ptrdiff_t bound_entry = (type.is_complex ? 2 : 1) * static_cast<std::ptrdiff_t>(sizeof(double));
    product.bound = {reinterpret_cast<char*>(own.bound), bound.line * bound_entry, bound_entry};
    if (batch.extent > 1) {
      check_stride("options.stride_bound", bound.matrix, batch.extent);
      batch.bound = bound.matrix * bound_entry;
    }
  }
  if (batch.extent != 1) product.axes.push_back(batch);
  return product;
}

namespace {

// Prepared operands have an accuracy and a plan.
CallOptions options_of(const GemmCall& call, const ozfp4_options* given, Unit unit) {
  CallOptions options = read_options(given, Entries::numbers, unit);
  const Prepared *a = call.product.a.prepared, *made = a != nullptr ? a : call.product.b.prepared;
  if (made != nullptr) static_cast<Options&>(options) = options_of_prepared(options, *made);
  return options;
}

}  // namespace

void multiply(const GemmCall& call, const ozfp4_options* given) {
  const CallOptions options = options_of(call, given, Unit::cpu);
  Product product = to_product(call, options);
  if (product.prepared_a != nullptr) product.a.data = on_cpu(product.prepared_a)->entries.get();
  if (product.prepared_b != nullptr) product.b.data = on_cpu(product.prepared_b)->entries.get();
  Ran ran;
  product::multiply(product, options, ran);
  write_report(options, ran);
}

void multiply(const GemmCall& call, const ozfp4_options* given, const DevicePlace& place) {
  const CallOptions options = options_of(call, given, Unit::gpu);
  enqueue(to_product(call, options), options, place);
}

}  // namespace ozfp4::c_api

using namespace ozfp4::c_api;  // of the definitions below alone

// The call of a function below, from its arguments.
#define OZFP4_CALL(type)                                                                                                   \
  GemmCall {                                                                                                               \
    {order, transa, transb, m, n, k, {type, a, lda, stride_a}, {type, b, ldb, stride_b}, {type, c, ldc, stride_c}, batch}, \
        check_factor("alpha", alpha, type), check_factor("beta", beta, type)                                               \
  }

#define OZFP4_GEMM(letter, T, Factor, kType)                                                                                     \
  ozfp4_status ozfp4_##letter##gemm_strided_batched(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,          \
                                                    Factor alpha, const T* a, int64_t lda, int64_t stride_a, const T* b,         \
                                                    int64_t ldb, int64_t stride_b, Factor beta, T* c, int64_t ldc,               \
                                                    int64_t stride_c, int64_t batch, const ozfp4_options* options) {             \
    return guarded([&] { multiply(OZFP4_CALL(kType), options); });                                                               \
  }                                                                                                                              \
  ozfp4_status ozfp4_cuda_##letter##gemm_strided_batched(                                                                        \
      int order, int transa, int transb, int64_t m, int64_t n, int64_t k, Factor alpha, const T* a, int64_t lda,                 \
      int64_t stride_a, const T* b, int64_t ldb, int64_t stride_b, Factor beta, T* c, int64_t ldc, int64_t stride_c,             \
      int64_t batch, void* workspace, int64_t workspace_bytes, void* stream, const ozfp4_options* options) {                     \
    return guarded([&] { multiply(OZFP4_CALL(kType), options, place_of(workspace, workspace_bytes, stream)); });                 \
  }                                                                                                                              \
  ozfp4_status ozfp4_##letter##gemm(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, Factor alpha,            \
                                    const T* a, int64_t lda, const T* b, int64_t ldb, Factor beta, T* c, int64_t ldc,            \
                                    const ozfp4_options* options) {                                                              \
    return ozfp4_##letter##gemm_strided_batched(order, transa, transb, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1, \
                                                options);                                                                        \
  }                                                                                                                              \
  ozfp4_status ozfp4_cuda_##letter##gemm(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, Factor alpha,       \
                                         const T* a, int64_t lda, const T* b, int64_t ldb, Factor beta, T* c, int64_t ldc,       \
                                         void* workspace, int64_t workspace_bytes, void* stream, const ozfp4_options* options) { \
    return ozfp4_cuda_##letter##gemm_strided_batched(order, transa, transb, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc,  \
                                                     0, 1, workspace, workspace_bytes, stream, options);                         \
  }

extern "C" {

OZFP4_OF_EACH_LETTER(OZFP4_GEMM)

ozfp4_status ozfp4_cuda_workspace_size_gemm_strided_batched(ozfp4_type type, int order, int transa, int transb, int64_t m,
                                                            int64_t n, int64_t k, const void* alpha, const void* a, int64_t lda,
                                                            int64_t stride_a, const void* b, int64_t ldb, int64_t stride_b,
                                                            const void* beta, const void* c, int64_t ldc, int64_t stride_c,
                                                            int64_t batch, const ozfp4_options* options, int64_t* bytes) {
  return guarded([&] {
    const DevicePlace place = size_into(bytes, a, b, c);
    const EntryType own = float_type("type", type);
    multiply(OZFP4_CALL(own), options, place);
  });
}

ozfp4_status ozfp4_cuda_workspace_size_gemm(ozfp4_type type, int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                            const void* alpha, const void* a, int64_t lda, const void* b, int64_t ldb,
                                            const void* beta, const void* c, int64_t ldc, const ozfp4_options* options,
                                            int64_t* bytes) {
  return ozfp4_cuda_workspace_size_gemm_strided_batched(type, order, transa, transb, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta,
                                                        c, ldc, 0, 1, options, bytes);
}

}  // extern "C"
