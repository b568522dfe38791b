// ozfp4_igemm and its like: exact products of integers, modulo 2^w of the result's type or modulo a number.
#include "product/integers.hpp"

#include "c_api/arguments.hpp"
#include "c_api/options.hpp"
#include "c_api/status.hpp"
#include "product/check.hpp"
#include "product/cpu/product.hpp"

namespace ozfp4::c_api {
namespace {

// A matrix as it is passed.
struct GivenIntegers {
  ElementType type;
  const void* data;
  std::int64_t leading;
};

// The arguments of ozfp4_igemm; `modulus`: that of ozfp4_gemm_mod, else 0.
struct IntegerCall {
  int order, transa, transb;
  std::int64_t m, n, k;
  std::int64_t alpha;
  GivenIntegers a, b;
  std::int64_t beta;
  GivenIntegers c;
  std::int64_t modulus = 0;
};

GivenIntegers as_given(const char* name, ozfp4_type type, const void* data, std::int64_t leading) {
  return {integer_type(name, type), data, leading};
}

std::int64_t check_modulus(std::int64_t modulus) {
  if (modulus < 1) refuse("modulus: " + std::to_string(modulus) + " is less than 1");
  return modulus;
}

OperandView view_of(const Operand& x, ElementType type, bool is_right) {
  return is_right ? OperandView{x.data, type, x.columns, x.rows, x.column_stride, x.row_stride}
                  : OperandView{x.data, type, x.rows, x.columns, x.row_stride, x.column_stride};
}

IntegerSum to_sum(const IntegerCall& call, const CallOptions& options) {
  const bool has_rows = is_row_major(call.order);
  is_transposed("transa", call.transa);
  is_transposed("transb", call.transb);
  check_extents(call.m, call.n, call.k);
  const Operand a =
      take_operand("a", call.order, call.transa, call.a.data, call.m, call.k, call.a.leading, entry_bytes(call.a.type));
  const Operand b =
      take_operand("b", call.order, call.transb, call.b.data, call.k, call.n, call.b.leading, entry_bytes(call.b.type));
  const std::int64_t line = has_rows ? call.n : call.m, lines = has_rows ? call.m : call.n, entry = entry_bytes(call.c.type);
  check_leading("ldc", call.c.leading, line);
  const bool is_read = call.m > 0 && call.n > 0 && call.k > 0 && call.alpha != 0;
  check_pointer("a", call.a.data, is_read);
  check_pointer("b", call.b.data, is_read);
  check_pointer("c", call.c.data, line > 0 && lines > 0);
  auto* data = static_cast<char*>(const_cast<void*>(call.c.data));
  const ResultView c{data, call.c.type, lines, line, static_cast<std::ptrdiff_t>(call.c.leading * entry), entry};
  const OperandView left = has_rows ? view_of(a, call.a.type, false) : view_of(transposed(b), call.b.type, false);
  const OperandView right = has_rows ? view_of(b, call.b.type, true) : view_of(transposed(a), call.a.type, true);
  const IntegerSum sum{{left, right, c}, call.alpha, call.beta, call.modulus, !has_rows};
  check_overflow(sum, options);
  return sum;
}

void multiply(const IntegerCall& call, const ozfp4_options* given) {
  const CallOptions options = read_options(given, Entries::integers, Unit::cpu);
  write_report(options, multiply_integers(to_sum(call, options), options, options.report != nullptr));
}

void multiply(IntegerCall call, const ozfp4_options* given, const DevicePlace& place) {
  const CallOptions options = read_options(given, Entries::integers, Unit::gpu);
  if (place.needed != nullptr) {
    for (GivenIntegers* own : {&call.a, &call.b, &call.c}) own->data = or_aligned(own->data);
  }
  enqueue_integers(to_sum(call, options), options, place);
}

}  // namespace
}  // namespace ozfp4::c_api

using namespace ozfp4::c_api;  // of the definitions below alone

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
  return guarded([&] {
    multiply(IntegerCall{order, transa, transb, m, n, k, alpha, as_given("type_a", type_a, a, lda),
                         as_given("type_b", type_b, b, ldb), beta, as_given("type_c", type_c, c, ldc)},
             options);
  });
}

ozfp4_status ozfp4_cuda_igemm(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, int64_t alpha,
                              ozfp4_type type_a, const void* a, int64_t lda, ozfp4_type type_b, const void* b, int64_t ldb,
                              int64_t beta, ozfp4_type type_c, void* c, int64_t ldc, void* workspace, int64_t workspace_bytes,
                              void* stream, const ozfp4_options* options) {
  return guarded([&] {
    multiply(IntegerCall{order, transa, transb, m, n, k, alpha, as_given("type_a", type_a, a, lda),
                         as_given("type_b", type_b, b, ldb), beta, as_given("type_c", type_c, c, ldc)},
             options, place_of(workspace, workspace_bytes, stream));
  });
}

ozfp4_status ozfp4_cuda_workspace_size_igemm(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, int64_t alpha,
                                             ozfp4_type type_a, const void* a, int64_t lda, ozfp4_type type_b, const void* b,
                                             int64_t ldb, int64_t beta, ozfp4_type type_c, const void* c, int64_t ldc,
                                             const ozfp4_options* options, int64_t* bytes) {
  return guarded([&] {
    const DevicePlace place = size_into(bytes);
    multiply(IntegerCall{order, transa, transb, m, n, k, alpha, as_given("type_a", type_a, a, lda),
                         as_given("type_b", type_b, b, ldb), beta, as_given("type_c", type_c, c, ldc)},
             options, place);
  });
}

OZFP4_TYPED(i8i8i32, int8_t, OZFP4_INT8, int32_t, OZFP4_INT32)
OZFP4_TYPED(i32i32i64, int32_t, OZFP4_INT32, int64_t, OZFP4_INT64)
OZFP4_TYPED(i64i64i64, int64_t, OZFP4_INT64, int64_t, OZFP4_INT64)

ozfp4_status ozfp4_gemm_mod(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, ozfp4_type type_a, const void* a,
                            int64_t lda, ozfp4_type type_b, const void* b, int64_t ldb, int64_t modulus, int64_t* c, int64_t ldc,
                            const ozfp4_options* options) {
  return guarded([&] {
    const GivenIntegers left = as_given("type_a", type_a, a, lda), right = as_given("type_b", type_b, b, ldb);
    const GivenIntegers result = as_given("type_c", OZFP4_INT64, c, ldc);
    multiply(IntegerCall{order, transa, transb, m, n, k, 1, left, right, 0, result, check_modulus(modulus)}, options);
  });
}

ozfp4_status ozfp4_cuda_gemm_mod(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, ozfp4_type type_a,
                                 const void* a, int64_t lda, ozfp4_type type_b, const void* b, int64_t ldb, int64_t modulus,
                                 int64_t* c, int64_t ldc, void* workspace, int64_t workspace_bytes, void* stream,
                                 const ozfp4_options* options) {
  return guarded([&] {
    const GivenIntegers left = as_given("type_a", type_a, a, lda), right = as_given("type_b", type_b, b, ldb);
    const GivenIntegers result = as_given("type_c", OZFP4_INT64, c, ldc);
    multiply(IntegerCall{order, transa, transb, m, n, k, 1, left, right, 0, result, check_modulus(modulus)}, options,
             place_of(workspace, workspace_bytes, stream));
  });
}

ozfp4_status ozfp4_cuda_workspace_size_gemm_mod(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                                ozfp4_type type_a, const void* a, int64_t lda, ozfp4_type type_b, const void* b,
                                                int64_t ldb, int64_t modulus, const int64_t* c, int64_t ldc,
                                                const ozfp4_options* options, int64_t* bytes) {
  return guarded([&] {
    const DevicePlace place = size_into(bytes);
    const GivenIntegers left = as_given("type_a", type_a, a, lda), right = as_given("type_b", type_b, b, ldb);
    const GivenIntegers result = as_given("type_c", OZFP4_INT64, c, ldc);
    multiply(IntegerCall{order, transa, transb, m, n, k, 1, left, right, 0, result, check_modulus(modulus)}, options, place);
  });
}

}  // extern "C"
