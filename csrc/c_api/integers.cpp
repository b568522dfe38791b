// ozfp4_igemm and its like: exact products of integers, modulo 2^w of the result's type or modulo a number.
#include "c_api/checked/integers.hpp"

#include <algorithm>
#include <string>

#include "c_api/checked/status.hpp"
#include "c_api/product/integer_plan.hpp"
#include "cpu/direct/matmul.hpp"
#include "cpu/integers/matmul.hpp"
#include "cpu/runtime/buffer.hpp"

namespace ozfp4::c_api {
namespace {

// The product into `target`, for which `held` bytes were taken, by machine words where they serve and nothing else is asked for,
// else by a plan.
void run_product(const IntegerProduct& product, const IntegerTarget& target, std::int64_t held, const Options& options) {
  const bool wants_exact = options.raises || options.report != nullptr;
  MatmulOutcome about;
  if (may_go_direct(options) && trusts_words()) {
    DirectMatmul direct(product.a, product.b, target, wants_exact);
    if (direct.needs_norms()) direct.look(product.a, product.b);
    if (direct.prepare(options.workspace_limit)) {
      direct.multiply(product.a, product.b, target.result, {});
      const DirectOutcome& outcome = direct.outcome();
      about.in_words = {1, 0, product.is_multiplied() ? outcome.products : 0};
      about.workspace = outcome.workspace + held;
      about.times = outcome.times;
      return write_report(options, nullptr, about, 0, outcome.word_bits);
    }
  }
  const std::shared_ptr<const Plan> plan = plan_for(integer_plan_options(options, product), 53, product.a.inner, false);
  trusted_unit();
  const IntegerOutcome outcome = cpu_integer_matmul(*plan, product.a, product.b, target, options.workspace_limit, {});
  if (options.raises && outcome.overflows > 0) {
    refuse(OZFP4_OVERFLOW, "options.overflow: " + std::to_string(outcome.overflows) +
                               (outcome.overflows == 1 ? " entry of the product does" : " entries of the product do") +
                               " not fit the type of c");
  }
  about.by_planes = {1, outcome.moduli_used, outcome.products};
  about.workspace = outcome.workspace + held;
  about.times = outcome.times;
  write_report(options, plan.get(), about, outcome.overflows);
}

// c = alpha x + beta c modulo 2^w; c is not read where beta is 0, nor x where it is null.
void combine(const ResultView& c, const char* x, std::int64_t alpha, std::int64_t beta) {
  with_integer(c.type, [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t i = 0; i < c.rows; ++i) {
      for (std::int64_t j = 0; j < c.columns; ++j) {
        char* place = c.data + i * c.row_stride + j * c.column_stride;
        std::uint64_t sum = 0;
        if (x != nullptr) sum = static_cast<std::uint64_t>(alpha) * static_cast<std::uint64_t>(load<T>(x));
        if (beta != 0) sum += static_cast<std::uint64_t>(beta) * static_cast<std::uint64_t>(load<T>(place));
        store(place, static_cast<T>(sum));
        if (x != nullptr) x += sizeof(T);
      }
    }
  });
}

void run(const IntegerCall& call, const ozfp4_options* given) {
  const Options options = read_integer_options(given);
  const IntegerProduct product = check_integers(call, options);
  const ResultView& c = product.c;
  if (call.alpha == 0) {
    combine(c, nullptr, 0, call.beta);
    return write_report(options, nullptr, {});
  }
  if (call.is_plain() && !options.raises) return run_product(product, {c, static_cast<std::uint64_t>(call.modulus)}, 0, options);
  // What may be refused, or is not yet the result, does not go to C.
  const std::int64_t entry = entry_bytes(c.type);
  const std::int64_t bytes = c.rows * c.columns * entry;
  const Buffer apart = allocate_buffer(std::max<std::int64_t>(bytes, 1));
  run_product(product, {{apart.get(), c.type, c.rows, c.columns, static_cast<std::ptrdiff_t>(c.columns * entry), entry}, 0},
              bytes, options);
  combine(c, apart.get(), call.alpha, call.beta);
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
