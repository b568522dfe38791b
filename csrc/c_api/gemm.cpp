// ozfp4_?gemm, their batches, and products of operands that were prepared.
#include "c_api/checked/gemm.hpp"

#include <string>
#include <utility>

#include "c_api/checked/status.hpp"
#include "c_api/product/prepared.hpp"
#include "c_api/product/product.hpp"

namespace ozfp4::c_api {
namespace {

// A call, the prepared operands of it, and the options, which are not read yet.
struct Call {
  GemmCall gemm;
  const ozfp4_prepared *prepared_a, *prepared_b;
  const ozfp4_options* options;
};

void advance(Product& product, const BatchedProduct& batch) {
  if (product.a.data != nullptr) product.a.data += batch.a_step;
  if (product.b.data != nullptr) product.b.data += batch.b_step;
  if (product.c != nullptr) product.c += batch.c_step;
  if (product.bound != nullptr) product.bound += batch.bound_step / static_cast<std::ptrdiff_t>(sizeof(double));
}

void run(const Call& call, const Options& options) {
  BatchedProduct batch = check_gemm(call.gemm, options);
  if (batch.is_tall(kMostEntries)) batch = batch.flattened();
  const bool has_rows = is_row_major(call.gemm.order);
  Product product{batch, has_rows ? call.prepared_a : call.prepared_b, has_rows ? call.prepared_b : call.prepared_a};
  Ran ran;
  for (std::int64_t i = 0; i < batch.count; ++i, advance(product, batch)) multiply(product, options, ran);
  ran.report(options);
}

void run(const GemmCall& call, const ozfp4_options* options) { run({call, nullptr, nullptr, options}, read_options(options)); }

// ---- Operands that were prepared ----

void check_prepared(const Call& call, const char* name, const ozfp4_prepared* made, const ozfp4_prepared* second,
                    std::int64_t rows, std::int64_t columns) {
  if (made == nullptr) return;
  const std::string text = std::string("prepared_") + name + ": ";
  const int order = call.gemm.order;
  if (made->is_row_major != is_row_major(order)) {
    refuse(text + "it was prepared with another order than " + std::to_string(order));
  }
  if (made->is_left != ((*name == 'a') == made->is_row_major)) refuse(text + "it was prepared for the other side");
  if (made->rows != rows || made->columns != columns) {
    refuse(text + "it is " + std::to_string(made->rows) + " x " + std::to_string(made->columns) + ", this product needs " +
           std::to_string(rows) + " x " + std::to_string(columns));
  }
  if (second == nullptr) return;
  const Plan &own = *made->plan, &of = *second->plan;
  const bool is_alike = made->type.part == second->type.part && made->type.is_complex == second->type.is_complex;
  const bool has_same_plan = own.scheme == of.scheme && own.family == of.family && own.bits == of.bits &&
                             std::string(own.alphabet.name) == of.alphabet.name && own.is_complex == of.is_complex &&
                             own.planes_a == of.planes_a;
  if (!is_alike || !has_same_plan || made->accuracy != second->accuracy) {
    refuse("prepared_b: it was prepared for another type, plan or accuracy than prepared_a");
  }
}

// The options of a product of what was prepared: accuracy and plan are its own, and others that are given are an error.
Options options_of_prepared(const ozfp4_options* given, const ozfp4_prepared& made) {
  Options options = read_options(given);
  const Plan& plan = *made.plan;
  const char* name = options.has_accuracy && options.accuracy != made.accuracy                                  ? "accuracy"
                     : options.has_scheme && options.scheme != plan.scheme                                      ? "scheme"
                     : options.alphabet != nullptr && std::string(options.alphabet->name) != plan.alphabet.name ? "backend"
                     : options.has_family && options.family != plan.family                                      ? "family"
                     : options.bits != 0 && options.bits != plan.bits                                           ? "bits"
                     : options.plan != nullptr && options.plan->plan != made.plan                               ? "plan"
                                                                                                                : nullptr;
  if (name != nullptr) refuse(std::string("options.") + name + ": it is not what the operand was prepared for");
  options.accuracy = made.accuracy;
  options.plan = nullptr;
  return options;
}

void run_prepared(Call call, const void* alpha, const void* beta) {
  const ozfp4_prepared* made = call.prepared_a != nullptr ? call.prepared_a : call.prepared_b;
  if (made == nullptr) refuse("prepared_a: is NULL, and so is prepared_b");
  GemmCall& gemm = call.gemm;
  for (const auto& [name, given] : {std::make_pair("a", &gemm.a), std::make_pair("b", &gemm.b)}) {
    if (given->is_prepared && given->data != nullptr) {
      refuse(std::string(name) + ": is not NULL, and neither is prepared_" + name);
    }
  }
  gemm.type = made->type;
  gemm.alpha = check_factor("alpha", alpha, gemm.type);
  gemm.beta = check_factor("beta", beta, gemm.type);
  const Options options = options_of_prepared(call.options, *made);
  check_prepared(call, "a", call.prepared_a, call.prepared_b, gemm.m, gemm.k);
  check_prepared(call, "b", call.prepared_b, call.prepared_a, gemm.k, gemm.n);
  run(call, options);
}

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
    run_prepared({{kD, order, transa, transb, m, n, k, 0.0, 0.0, left, right, c, ldc, 0, 1}, prepared_a, prepared_b, options},
                 alpha, beta);
  });
}

}  // extern "C"
