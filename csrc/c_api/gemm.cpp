// ozfp4_?gemm, their batches, and products of operands that were prepared.
#include <algorithm>
#include <string>

#include "c_api/checked/status.hpp"
#include "c_api/product/prepared.hpp"
#include "c_api/product/product.hpp"

namespace ozfp4::c_api {
namespace {

// A matrix as it is passed: entries and where the next matrix of a batch begins.
struct Given {
  const void* data;
  std::int64_t leading, stride;
  const ozfp4_prepared* prepared;
};

struct Call {
  EntryType type;
  int order, transa, transb;
  std::int64_t m, n, k;
  std::complex<double> alpha, beta;
  Given a, b;
  void* c;
  std::int64_t ldc, stride_c;
  std::int64_t batch;
  const ozfp4_options* options;
};

// The row-major product, and how many bytes further the matrices of the next one lie.
struct Batch {
  Product product;
  std::ptrdiff_t a = 0, b = 0, c = 0, bound = 0;
  std::int64_t count = 1;

  // One product of all rows where each matrix of A follows the one before, and B is one: B is then encoded once.
  void flatten() {
    const Operand& own = product.a;
    const bool is_tall = b == 0 && a == product.m * own.row_stride && c == product.m * product.c_stride &&
                         (product.bound == nullptr || bound == product.m * product.bound_stride) &&
                         product.prepared_a == nullptr && product.prepared_b == nullptr;
    if (!is_tall || product.m == 0) return;
    product.m *= count;
    product.a.rows *= count;
    count = 1;
  }

  void advance() {
    if (product.a.data != nullptr) product.a.data += a;
    if (product.b.data != nullptr) product.b.data += b;
    if (product.c != nullptr) product.c += c;
    if (product.bound != nullptr) product.bound += bound / static_cast<std::ptrdiff_t>(sizeof(double));
  }
};

void check_bound(Options& options, std::int64_t line, std::int64_t lines, std::int64_t batch) {
  if (options.bound == nullptr) return;
  if (options.ld_bound == 0) options.ld_bound = std::max<std::int64_t>(line, 1);
  check_leading("options.ld_bound", options.ld_bound, line);
  check_entries("options.ld_bound", options.ld_bound, "lines", lines);
  if (options.stride_bound == 0) options.stride_bound = lines * options.ld_bound;
  if (batch > 1 && options.stride_bound < 1)
    refuse("options.stride_bound: " + std::to_string(options.stride_bound) + " is less than 1");
}

Operand operand_of(const Call& call, const char* name, int transpose, const Given& given, std::int64_t rows,
                   std::int64_t columns) {
  if (given.prepared != nullptr) return {nullptr, rows, columns, 0, 0, false};
  Operand operand = take_operand(name, call.order, transpose, given.data, rows, columns, given.leading, call.type.bytes());
  operand.is_conjugated = operand.is_conjugated && call.type.is_complex;
  const bool is_read = call.alpha != 0.0 && call.m > 0 && call.n > 0 && call.k > 0 && call.batch > 0;
  check_pointer(name, given.data, is_read);
  return operand;
}

Batch batch_of(const Call& call, Options& options) {
  const bool has_rows = is_row_major(call.order);
  for (const auto& [name, transpose, given] :
       {std::make_tuple("transa", call.transa, &call.a), std::make_tuple("transb", call.transb, &call.b)}) {
    if (given->prepared == nullptr) is_transposed(name, transpose);
  }
  check_extent("m", call.m);
  check_extent("n", call.n);
  check_extent("k", call.k);
  check_extent("batch", call.batch);
  check_matrices(call.m, call.n, call.k);
  const Operand a = operand_of(call, "a", call.transa, call.a, call.m, call.k);
  const Operand b = operand_of(call, "b", call.transb, call.b, call.k, call.n);
  const std::int64_t entry = call.type.bytes(), line = has_rows ? call.n : call.m, lines = has_rows ? call.m : call.n;
  check_leading("ldc", call.ldc, line);
  check_pointer("c", call.c, line > 0 && lines > 0 && call.batch > 0);
  const bool has_strides = call.batch > 1;
  if (has_strides && call.stride_c < 1) refuse("stride_c: " + std::to_string(call.stride_c) + " is less than 1");
  check_bound(options, line, lines, call.batch);
  const std::int64_t pair = call.type.is_complex ? 2 : 1;
  Batch batch;
  batch.product = {call.type,
                   lines,
                   line,
                   call.k,
                   has_rows ? a : transposed(b),
                   has_rows ? b : transposed(a),
                   static_cast<char*>(call.c),
                   static_cast<std::ptrdiff_t>(call.ldc * entry),
                   call.alpha,
                   call.beta,
                   options.bound,
                   static_cast<std::ptrdiff_t>(options.ld_bound * pair * static_cast<std::int64_t>(sizeof(double))),
                   has_rows ? call.a.prepared : call.b.prepared,
                   has_rows ? call.b.prepared : call.a.prepared};
  if (has_strides) {
    const std::int64_t a_bytes = check_stride("stride_a", call.a.stride) * entry;
    const std::int64_t b_bytes = check_stride("stride_b", call.b.stride) * entry;
    batch.a = has_rows ? a_bytes : b_bytes;
    batch.b = has_rows ? b_bytes : a_bytes;
    batch.c = check_stride("stride_c", call.stride_c) * entry;
    batch.bound = check_stride("options.stride_bound", options.stride_bound) * pair * static_cast<std::int64_t>(sizeof(double));
  }
  batch.count = call.batch;
  return batch;
}

void run(const Call& call, Options options) {
  Batch batch = batch_of(call, options);
  if (batch.count > 1) batch.flatten();
  Ran ran;
  for (std::int64_t i = 0; i < batch.count; ++i, batch.advance()) multiply(batch.product, options, ran);
  ran.report(options);
}

void run(const Call& call) { run(call, read_options(call.options)); }

// ---- Operands that were prepared ----

void check_prepared(const Call& call, const char* name, const Given& given, const Given& other, std::int64_t rows,
                    std::int64_t columns) {
  const ozfp4_prepared* made = given.prepared;
  if (made == nullptr) return;
  const std::string text = std::string("prepared_") + name + ": ";
  if (made->is_row_major != is_row_major(call.order)) {
    refuse(text + "it was prepared with another order than " + std::to_string(call.order));
  }
  if (made->is_left != ((*name == 'a') == made->is_row_major)) refuse(text + "it was prepared for the other side");
  if (made->rows != rows || made->columns != columns) {
    refuse(text + "it is " + std::to_string(made->rows) + " x " + std::to_string(made->columns) + ", this product needs " +
           std::to_string(rows) + " x " + std::to_string(columns));
  }
  const ozfp4_prepared* second = other.prepared;
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
  const ozfp4_prepared* made = call.a.prepared != nullptr ? call.a.prepared : call.b.prepared;
  if (made == nullptr) refuse("prepared_a: is NULL, and so is prepared_b");
  for (const auto& [name, given] : {std::make_pair("a", &call.a), std::make_pair("b", &call.b)}) {
    if (given->prepared != nullptr && given->data != nullptr) {
      refuse(std::string(name) + ": is not NULL, and neither is prepared_" + name);
    }
  }
  call.type = made->type;
  call.alpha = check_factor("alpha", alpha, call.type);
  call.beta = check_factor("beta", beta, call.type);
  const Options options = options_of_prepared(call.options, *made);
  check_prepared(call, "a", call.a, call.b, call.m, call.k);
  check_prepared(call, "b", call.b, call.a, call.k, call.n);
  run(call, options);
}

constexpr EntryType kS{ElementType::float32, false}, kD{ElementType::float64, false}, kC{ElementType::float32, true},
    kZ{ElementType::float64, true};

}  // namespace
}  // namespace ozfp4::c_api

using namespace ozfp4::c_api;  // of the definitions below alone

#define OZFP4_REAL_GEMM(letter, T, kType)                                                                                        \
  ozfp4_status ozfp4_##letter##gemm(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, T alpha, const T* a,     \
                                    int64_t lda, const T* b, int64_t ldb, T beta, T* c, int64_t ldc,                             \
                                    const ozfp4_options* options) {                                                              \
    return guarded([&] {                                                                                                         \
      run({kType,                                                                                                                \
           order,                                                                                                                \
           transa,                                                                                                               \
           transb,                                                                                                               \
           m,                                                                                                                    \
           n,                                                                                                                    \
           k,                                                                                                                    \
           check_factor("alpha", static_cast<double>(alpha)),                                                                    \
           check_factor("beta", static_cast<double>(beta)),                                                                      \
           {a, lda, 0, nullptr},                                                                                                 \
           {b, ldb, 0, nullptr},                                                                                                 \
           c,                                                                                                                    \
           ldc,                                                                                                                  \
           0,                                                                                                                    \
           1,                                                                                                                    \
           options});                                                                                                            \
    });                                                                                                                          \
  }                                                                                                                              \
  ozfp4_status ozfp4_##letter##gemm_strided_batched(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, T alpha, \
                                                    const T* a, int64_t lda, int64_t stride_a, const T* b, int64_t ldb,          \
                                                    int64_t stride_b, T beta, T* c, int64_t ldc, int64_t stride_c,               \
                                                    int64_t batch, const ozfp4_options* options) {                               \
    return guarded([&] {                                                                                                         \
      run({kType,                                                                                                                \
           order,                                                                                                                \
           transa,                                                                                                               \
           transb,                                                                                                               \
           m,                                                                                                                    \
           n,                                                                                                                    \
           k,                                                                                                                    \
           check_factor("alpha", static_cast<double>(alpha)),                                                                    \
           check_factor("beta", static_cast<double>(beta)),                                                                      \
           {a, lda, stride_a, nullptr},                                                                                          \
           {b, ldb, stride_b, nullptr},                                                                                          \
           c,                                                                                                                    \
           ldc,                                                                                                                  \
           stride_c,                                                                                                             \
           batch,                                                                                                                \
           options});                                                                                                            \
    });                                                                                                                          \
  }

#define OZFP4_COMPLEX_GEMM(letter, kType)                                                                                       \
  ozfp4_status ozfp4_##letter##gemm(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, const void* alpha,      \
                                    const void* a, int64_t lda, const void* b, int64_t ldb, const void* beta, void* c,          \
                                    int64_t ldc, const ozfp4_options* options) {                                                \
    return guarded([&] {                                                                                                        \
      run({kType,                                                                                                               \
           order,                                                                                                               \
           transa,                                                                                                              \
           transb,                                                                                                              \
           m,                                                                                                                   \
           n,                                                                                                                   \
           k,                                                                                                                   \
           check_factor("alpha", alpha, kType),                                                                                 \
           check_factor("beta", beta, kType),                                                                                   \
           {a, lda, 0, nullptr},                                                                                                \
           {b, ldb, 0, nullptr},                                                                                                \
           c,                                                                                                                   \
           ldc,                                                                                                                 \
           0,                                                                                                                   \
           1,                                                                                                                   \
           options});                                                                                                           \
    });                                                                                                                         \
  }                                                                                                                             \
  ozfp4_status ozfp4_##letter##gemm_strided_batched(                                                                            \
      int order, int transa, int transb, int64_t m, int64_t n, int64_t k, const void* alpha, const void* a, int64_t lda,        \
      int64_t stride_a, const void* b, int64_t ldb, int64_t stride_b, const void* beta, void* c, int64_t ldc, int64_t stride_c, \
      int64_t batch, const ozfp4_options* options) {                                                                            \
    return guarded([&] {                                                                                                        \
      run({kType,                                                                                                               \
           order,                                                                                                               \
           transa,                                                                                                              \
           transb,                                                                                                              \
           m,                                                                                                                   \
           n,                                                                                                                   \
           k,                                                                                                                   \
           check_factor("alpha", alpha, kType),                                                                                 \
           check_factor("beta", beta, kType),                                                                                   \
           {a, lda, stride_a, nullptr},                                                                                         \
           {b, ldb, stride_b, nullptr},                                                                                         \
           c,                                                                                                                   \
           ldc,                                                                                                                 \
           stride_c,                                                                                                            \
           batch,                                                                                                               \
           options});                                                                                                           \
    });                                                                                                                         \
  }

extern "C" {

OZFP4_REAL_GEMM(d, double, kD)
OZFP4_REAL_GEMM(s, float, kS)
OZFP4_COMPLEX_GEMM(z, kZ)
OZFP4_COMPLEX_GEMM(c, kC)

ozfp4_status ozfp4_gemm_prepared(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, const void* alpha,
                                 const void* a, int64_t lda, const ozfp4_prepared* prepared_a, const void* b, int64_t ldb,
                                 const ozfp4_prepared* prepared_b, const void* beta, void* c, int64_t ldc,
                                 const ozfp4_options* options) {
  return guarded([&] {
    run_prepared(
        {kD, order, transa, transb, m, n, k, 0.0, 0.0, {a, lda, 0, prepared_a}, {b, ldb, 0, prepared_b}, c, ldc, 0, 1, options},
        alpha, beta);
  });
}

}  // extern "C"
