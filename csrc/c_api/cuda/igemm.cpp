// ozfp4_cuda_igemm and its like: products of integers on the current device.
#include "c_api/checked/integers.hpp"
#include "c_api/checked/status.hpp"
#include "c_api/cuda/entry.hpp"
#include "c_api/cuda/integers_call.hpp"
#include "product/gpu/device.hpp"
#include "product/gpu/integers.hpp"

namespace ozfp4::c_api {
namespace {

void run(const IntegerCall& call, const Place& place, const char* query, const ozfp4_options* given) {
  const CallOptions options = read_device_integer_options(given);
  const IntegerSum integers = check_device_integers(call, options);
  check_aligned("a", call.a.data, entry_bytes(call.a.type));
  check_aligned("b", call.b.data, entry_bytes(call.b.type));
  check_aligned("c", call.c.data, entry_bytes(call.c.type));
  if (!integers.is_multiplied()) {
    if (!integers.product.is_there() && options.overflows == nullptr) return;
    return on_device([&] { launch_nothing(integers, options, place.stream); });
  }
  place.check();
  on_device([&] {
    const auto problem = find_problem(integers, options, place.stream);
    place.check_holds(problem->places.bytes, query);
    launch(*problem, integers, options, place.workspace, place.stream);
  });
}

// At most that of whatever call there is of these types and extents.
std::int64_t workspace_bytes(IntegerCall call, bool allows_factors, const ozfp4_options* given) {
  const CallOptions options = read_device_integer_options(given);
  place_anywhere(call);
  if (!check_device_integers(call, options).is_multiplied()) return 0;
  return most_within_limit(widest(call, allows_factors, options), [&](const IntegerSum& integers) {
    return find_problem(integers, options, no_stream())->places.bytes;
  });
}

}  // namespace
}  // namespace ozfp4::c_api

using namespace ozfp4;
using namespace ozfp4::c_api;  // of the definitions below alone

extern "C" {

ozfp4_status ozfp4_cuda_workspace_size_igemm(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                             ozfp4_type type_a, ozfp4_type type_b, ozfp4_type type_c,
                                             const ozfp4_options* options, int64_t* bytes) {
  return guarded([&] {
    check_pointer("bytes", bytes, true);
    const GivenIntegers a{integer_type("type_a", type_a), nullptr, 0}, b{integer_type("type_b", type_b), nullptr, 0};
    const GivenIntegers c{integer_type("type_c", type_c), nullptr, 0};
    *bytes = workspace_bytes({order, transa, transb, m, n, k, 1, 0, a, b, c, 0}, true, options);
  });
}

ozfp4_status ozfp4_cuda_workspace_size_gemm_mod(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                                ozfp4_type type_a, ozfp4_type type_b, const ozfp4_options* options,
                                                int64_t* bytes) {
  return guarded([&] {
    check_pointer("bytes", bytes, true);
    const GivenIntegers a{integer_type("type_a", type_a), nullptr, 0}, b{integer_type("type_b", type_b), nullptr, 0};
    *bytes = workspace_bytes({order, transa, transb, m, n, k, 1, 0, a, b, {ElementType::int64, nullptr, 0}, 2}, false, options);
  });
}

ozfp4_status ozfp4_cuda_igemm(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, int64_t alpha,
                              ozfp4_type type_a, const void* a, int64_t lda, ozfp4_type type_b, const void* b, int64_t ldb,
                              int64_t beta, ozfp4_type type_c, void* c, int64_t ldc, void* workspace, int64_t workspace_bytes,
                              void* stream, const ozfp4_options* options) {
  return guarded([&] {
    const GivenIntegers left{integer_type("type_a", type_a), a, lda}, right{integer_type("type_b", type_b), b, ldb};
    const GivenIntegers result{integer_type("type_c", type_c), c, ldc};
    c_api::run({order, transa, transb, m, n, k, alpha, beta, left, right, result, 0},
               place_of(workspace, workspace_bytes, stream), "ozfp4_cuda_workspace_size_igemm", options);
  });
}

ozfp4_status ozfp4_cuda_gemm_i8i8i32(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, int32_t alpha,
                                     const int8_t* a, int64_t lda, const int8_t* b, int64_t ldb, int32_t beta, int32_t* c,
                                     int64_t ldc, void* workspace, int64_t workspace_bytes, void* stream,
                                     const ozfp4_options* options) {
  return ozfp4_cuda_igemm(order, transa, transb, m, n, k, alpha, OZFP4_INT8, a, lda, OZFP4_INT8, b, ldb, beta, OZFP4_INT32, c,
                          ldc, workspace, workspace_bytes, stream, options);
}

ozfp4_status ozfp4_cuda_gemm_i32i32i64(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, int64_t alpha,
                                       const int32_t* a, int64_t lda, const int32_t* b, int64_t ldb, int64_t beta, int64_t* c,
                                       int64_t ldc, void* workspace, int64_t workspace_bytes, void* stream,
                                       const ozfp4_options* options) {
  return ozfp4_cuda_igemm(order, transa, transb, m, n, k, alpha, OZFP4_INT32, a, lda, OZFP4_INT32, b, ldb, beta, OZFP4_INT64, c,
                          ldc, workspace, workspace_bytes, stream, options);
}

ozfp4_status ozfp4_cuda_gemm_i64i64i64(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, int64_t alpha,
                                       const int64_t* a, int64_t lda, const int64_t* b, int64_t ldb, int64_t beta, int64_t* c,
                                       int64_t ldc, void* workspace, int64_t workspace_bytes, void* stream,
                                       const ozfp4_options* options) {
  return ozfp4_cuda_igemm(order, transa, transb, m, n, k, alpha, OZFP4_INT64, a, lda, OZFP4_INT64, b, ldb, beta, OZFP4_INT64, c,
                          ldc, workspace, workspace_bytes, stream, options);
}

ozfp4_status ozfp4_cuda_gemm_mod(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, ozfp4_type type_a,
                                 const void* a, int64_t lda, ozfp4_type type_b, const void* b, int64_t ldb, int64_t modulus,
                                 int64_t* c, int64_t ldc, void* workspace, int64_t workspace_bytes, void* stream,
                                 const ozfp4_options* options) {
  return guarded([&] {
    const GivenIntegers left{integer_type("type_a", type_a), a, lda}, right{integer_type("type_b", type_b), b, ldb};
    const GivenIntegers result{ElementType::int64, c, ldc};
    c_api::run({order, transa, transb, m, n, k, 1, 0, left, right, result, check_modulus(modulus)},
               place_of(workspace, workspace_bytes, stream), "ozfp4_cuda_workspace_size_gemm_mod", options);
  });
}

}  // extern "C"
