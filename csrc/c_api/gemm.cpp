// ozfp4_?gemm and their batches.
#include "c_api/gemm.hpp"

#include <algorithm>
#include <tuple>

#include "c_api/status.hpp"
#include "product/check.hpp"
#include "product/cpu/prepared.hpp"
#include "product/cpu/product.hpp"

namespace ozfp4::c_api {
namespace {

Operand operand_of(const GemmCall& call, const char* name, int transpose, const GivenMatrix& given, std::int64_t rows,
                   std::int64_t columns) {
  if (given.prepared != nullptr) return {nullptr, rows, columns, 0, 0, false};
  Operand operand = take_operand(name, call.order, transpose, given.data, rows, columns, given.leading, call.type.bytes());
  operand.is_conjugated = operand.is_conjugated && call.type.is_complex;
  const bool is_read = call.alpha != 0.0 && call.m > 0 && call.n > 0 && call.k > 0 && call.batch > 0;
  check_pointer(name, given.data, is_read);
  return operand;
}

Product to_product(const GemmCall& call, const CallOptions& options) {
  const bool has_rows = is_row_major(call.order);
  for (const auto& [name, transpose, given] :
       {std::make_tuple("transa", call.transa, &call.a), std::make_tuple("transb", call.transb, &call.b)}) {
    if (given->prepared == nullptr) is_transposed(name, transpose);
  }
  check_extents(call.m, call.n, call.k);
  check_extent("batch", call.batch);
  const Operand a = operand_of(call, "a", call.transa, call.a, call.m, call.k);
  const Operand b = operand_of(call, "b", call.transb, call.b, call.k, call.n);
  const std::ptrdiff_t entry = call.type.bytes();
  const std::int64_t line = has_rows ? call.n : call.m, lines = has_rows ? call.m : call.n;
  check_leading("ldc", call.ldc, line);
  check_pointer("c", call.c, line > 0 && lines > 0 && call.batch > 0);
  const bool has_strides = call.batch > 1;
  if (has_strides && call.stride_c < 1) refuse("stride_c: " + std::to_string(call.stride_c) + " is less than 1");
  check_factors(call.alpha, call.beta, options);
  BoundStrides bound{0, 0};
  if (options.bound != nullptr) bound = bound_strides({options.ld_bound, options.stride_bound}, line, lines, call.batch);
  const std::ptrdiff_t bound_entry = (call.type.is_complex ? 2 : 1) * static_cast<std::ptrdiff_t>(sizeof(double));
  Product product{call.type,
                  lines,
                  line,
                  call.k,
                  has_rows ? a : transposed(b),
                  has_rows ? b : transposed(a),
                  call.type,
                  call.type,
                  {static_cast<char*>(call.c), call.ldc * entry, entry},
                  call.alpha,
                  call.beta};
  if (call.beta != 0.0) product.addend = product.c;
  product.addend_part = call.type.part;
  if (options.bound != nullptr) product.bound = {reinterpret_cast<char*>(options.bound), bound.line * bound_entry, bound_entry};
  product.is_exchanged = !has_rows;
  const PreparedPair sides = call.sides();
  product.prepared_a = sides.left;
  product.prepared_b = sides.right;
  if (has_strides) {
    const std::int64_t a_bytes = check_stride("stride_a", call.a.stride, call.batch) * entry;
    const std::int64_t b_bytes = check_stride("stride_b", call.b.stride, call.batch) * entry;
    const std::int64_t c_bytes = check_stride("stride_c", call.stride_c, call.batch) * entry;
    product.axes.push_back({call.batch, has_rows ? a_bytes : b_bytes, has_rows ? b_bytes : a_bytes, c_bytes, c_bytes, 0,
                            check_stride("options.stride_bound", bound.matrix, call.batch) * bound_entry});
  } else if (call.batch == 0) {
    product.axes.push_back({0});
  }
  return product;
}

// The call of a workspace query, with aligned addresses in place of NULL.
GemmCall placed(GemmCall call) {
  call.a.data = or_aligned(call.a.data);
  call.b.data = or_aligned(call.b.data);
  call.c = or_aligned(call.c);
  return call;
}

// Prepared operands have an accuracy and a plan.
CallOptions options_of(const GemmCall& call, const ozfp4_options* given, Unit unit) {
  CallOptions options = read_options(given, Entries::numbers, unit);
  const Prepared* made = call.a.prepared != nullptr ? call.a.prepared : call.b.prepared;
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
  enqueue(to_product(place.needed != nullptr ? placed(call) : call, options), options, place);
}

}  // namespace ozfp4::c_api

using namespace ozfp4::c_api;  // of the definitions below alone

#define OZFP4_GEMM(letter, T, Factor, kType)                                                                                     \
  ozfp4_status ozfp4_##letter##gemm_strided_batched(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,          \
                                                    Factor alpha, const T* a, int64_t lda, int64_t stride_a, const T* b,         \
                                                    int64_t ldb, int64_t stride_b, Factor beta, T* c, int64_t ldc,               \
                                                    int64_t stride_c, int64_t batch, const ozfp4_options* options) {             \
    return guarded([&] {                                                                                                         \
      const GivenMatrix left{a, lda, stride_a}, right{b, ldb, stride_b};                                                         \
      const auto by = check_factor("alpha", alpha, kType), of_c = check_factor("beta", beta, kType);                             \
      multiply(GemmCall{kType, order, transa, transb, m, n, k, by, left, right, of_c, c, ldc, stride_c, batch}, options);        \
    });                                                                                                                          \
  }                                                                                                                              \
  ozfp4_status ozfp4_cuda_##letter##gemm_strided_batched(                                                                        \
      int order, int transa, int transb, int64_t m, int64_t n, int64_t k, Factor alpha, const T* a, int64_t lda,                 \
      int64_t stride_a, const T* b, int64_t ldb, int64_t stride_b, Factor beta, T* c, int64_t ldc, int64_t stride_c,             \
      int64_t batch, void* workspace, int64_t workspace_bytes, void* stream, const ozfp4_options* options) {                     \
    return guarded([&] {                                                                                                         \
      const GivenMatrix left{a, lda, stride_a}, right{b, ldb, stride_b};                                                         \
      const auto by = check_factor("alpha", alpha, kType), of_c = check_factor("beta", beta, kType);                             \
      multiply(GemmCall{kType, order, transa, transb, m, n, k, by, left, right, of_c, c, ldc, stride_c, batch}, options,         \
               place_of(workspace, workspace_bytes, stream));                                                                    \
    });                                                                                                                          \
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
    const DevicePlace place = size_into(bytes);
    const EntryType own = float_type("type", type);
    const GivenMatrix left{a, lda, stride_a}, right{b, ldb, stride_b};
    const auto by = check_factor("alpha", alpha, own), of_c = check_factor("beta", beta, own);
    void* const to = const_cast<void*>(c);
    multiply(GemmCall{own, order, transa, transb, m, n, k, by, left, right, of_c, to, ldc, stride_c, batch}, options, place);
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
