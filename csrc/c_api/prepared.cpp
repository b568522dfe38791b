// ozfp4_prepare, an operand that is scaled and encoded once, and products of such operands.
#include "product/cpu/prepared.hpp"

#include <memory>
#include <string>
#include <utility>

#include "c_api/gemm.hpp"
#include "c_api/options.hpp"
#include "c_api/status.hpp"
#include "product/choose.hpp"
#include "product/cpu/product.hpp"
#include "product/prepared.hpp"

struct ozfp4_prepared : ozfp4::product::PreparedMatrix {};

struct ozfp4_cuda_prepared {
  std::shared_ptr<const ozfp4::product::Prepared> made;
};

namespace ozfp4::c_api {
namespace {

ToPrepare to_operand(int side, int order, int trans, std::int64_t rows, std::int64_t columns, const GivenMatrix& given,
                     const CallOptions& options) {
  const EntryType type = given.type;
  if (side != OZFP4_LEFT && side != OZFP4_RIGHT) {
    refuse("side: " + std::to_string(side) + " is neither OZFP4_LEFT (141) nor OZFP4_RIGHT (142)");
  }
  const bool has_rows = is_row_major(order);
  is_transposed("trans", trans);
  check_entries("rows", check_extent("rows", rows), "columns", check_extent("columns", columns));
  Operand x = take_operand("x", order, trans, given, rows, columns, true);
  const char* of_products = options.given.bound != nullptr ? "bound" : options.repaired != nullptr ? "repaired" : nullptr;
  if (of_products != nullptr) refuse_option(of_products, "is for products");
  const bool is_left = (side == OZFP4_LEFT) == has_rows;
  if (!has_rows) x = transposed(x);
  const std::int64_t width = type.is_complex ? 2 : 1, lines = is_left ? x.rows : x.columns;
  const std::int64_t inner = width * (is_left ? x.columns : x.rows);
  if (inner > kLongestCertified) {
    refuse(Fault::unsupported, std::string(side == OZFP4_LEFT ? "columns" : "rows") + ": lines are counted up to K <= 2^31");
  }
  return {type, is_left, has_rows, x, is_left ? lines : width * lines, inner, type.precision()};
}

void check_belongs(const std::string& name, const GivenMatrix& given, int order, std::int64_t rows, std::int64_t columns) {
  const Prepared* made = given.prepared;
  if (made == nullptr) return;
  const std::string text = "prepared_" + name + ": ";
  if (given.data != nullptr) refuse(name + ": is not NULL, and neither is prepared_" + name);
  if (made->is_row_major != is_row_major(order)) {
    refuse(text + "it was prepared with another order than " + std::to_string(order));
  }
  if (made->is_left != ((name == "a") == made->is_row_major)) refuse(text + "it was prepared for the other side");
  if (made->rows != rows || made->columns != columns) {
    refuse(text + "it is " + std::to_string(made->rows) + " x " + std::to_string(made->columns) + ", this product needs " +
           std::to_string(rows) + " x " + std::to_string(columns));
  }
}

// The call of a product of prepared operands; its type is theirs, whatever the matrices say.
GemmCall completed(GivenProduct product, const void* alpha, const void* beta) {
  const Prepared *a = product.a.prepared, *b = product.b.prepared;
  if (a == nullptr && b == nullptr) refuse("prepared_a: is NULL, and so is prepared_b");
  const EntryType type = (a != nullptr ? a : b)->type;
  product.a.type = product.b.type = product.c.type = type;
  check_belongs("a", product.a, product.order, product.m, product.k);
  check_belongs("b", product.b, product.order, product.k, product.n);
  const GemmCall call{product, check_factor("alpha", alpha, type), check_factor("beta", beta, type)};
  if (a == nullptr || b == nullptr) return call;
  if (!are_alike(*a, *b)) refuse("prepared_b: it was prepared for another type, plan or accuracy than prepared_a");
  if (is_imaginary(call.alpha) && product.k > 0) {
    refuse("alpha: it is imaginary, and both operands are prepared as they are; prepare i times one of them");
  }
  return call;
}

const Prepared* of(const ozfp4_cuda_prepared* prepared) { return prepared != nullptr ? prepared->made.get() : nullptr; }

}  // namespace
}  // namespace ozfp4::c_api

using namespace ozfp4::c_api;  // of the definitions below alone

// The product of a function below, from its arguments.
#define OZFP4_PREPARED(own_a, own_b)                                                               \
  GivenProduct {                                                                                   \
    order, transa, transb, m, n, k, {kD, a, lda, 0, own_a}, {kD, b, ldb, 0, own_b}, { kD, c, ldc } \
  }

extern "C" {

ozfp4_status ozfp4_prepare(ozfp4_type type, ozfp4_side side, int order, int trans, int64_t rows, int64_t columns, const void* x,
                           int64_t ldx, const ozfp4_options* options, ozfp4_prepared** prepared) {
  return guarded([&] {
    check_pointer("prepared", prepared, true);
    const CallOptions read = read_options(options, Entries::numbers, Unit::cpu);
    auto made = std::make_unique<ozfp4_prepared>();
    prepare(to_operand(side, order, trans, rows, columns, {float_type("type", type), x, ldx}, read), read, *made);
    made->rows = rows;
    made->columns = columns;
    *prepared = made.release();
  });
}

void ozfp4_release(ozfp4_prepared* prepared) { delete prepared; }

int64_t ozfp4_prepared_bytes(const ozfp4_prepared* prepared) { return prepared != nullptr ? prepared->bytes : 0; }

ozfp4_status ozfp4_gemm_prepared(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, const void* alpha,
                                 const void* a, int64_t lda, const ozfp4_prepared* prepared_a, const void* b, int64_t ldb,
                                 const ozfp4_prepared* prepared_b, const void* beta, void* c, int64_t ldc,
                                 const ozfp4_options* options) {
  return guarded([&] { multiply(completed(OZFP4_PREPARED(prepared_a, prepared_b), alpha, beta), options); });
}

ozfp4_status ozfp4_cuda_prepare(ozfp4_type type, ozfp4_side side, int order, int trans, int64_t rows, int64_t columns,
                                const void* x, int64_t ldx, void* memory, int64_t memory_bytes, void* stream,
                                const ozfp4_options* options, ozfp4_cuda_prepared** prepared) {
  return guarded([&] {
    check_pointer("prepared", prepared, true);
    const CallOptions read = read_options(options, Entries::numbers, Unit::gpu);
    const ToPrepare own = to_operand(side, order, trans, rows, columns, {float_type("type", type), x, ldx}, read);
    *prepared = new ozfp4_cuda_prepared{prepare_on_device(own, read, place_of(memory, memory_bytes, stream))};
  });
}

ozfp4_status ozfp4_cuda_prepared_size(ozfp4_type type, ozfp4_side side, int order, int trans, int64_t rows, int64_t columns,
                                      const void* x, int64_t ldx, const ozfp4_options* options, int64_t* bytes) {
  return guarded([&] {
    const DevicePlace place = size_into(bytes, x);
    const CallOptions read = read_options(options, Entries::numbers, Unit::gpu);
    prepare_on_device(to_operand(side, order, trans, rows, columns, {float_type("type", type), x, ldx}, read), read, place);
  });
}

void ozfp4_cuda_release(ozfp4_cuda_prepared* prepared) { delete prepared; }

ozfp4_status ozfp4_cuda_gemm_prepared(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, const void* alpha,
                                      const void* a, int64_t lda, const ozfp4_cuda_prepared* prepared_a, const void* b,
                                      int64_t ldb, const ozfp4_cuda_prepared* prepared_b, const void* beta, void* c, int64_t ldc,
                                      void* workspace, int64_t workspace_bytes, void* stream, const ozfp4_options* options) {
  return guarded([&] {
    multiply(completed(OZFP4_PREPARED(of(prepared_a), of(prepared_b)), alpha, beta), options,
             place_of(workspace, workspace_bytes, stream));
  });
}

ozfp4_status ozfp4_cuda_workspace_size_gemm_prepared(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                                     const void* alpha, const void* a, int64_t lda,
                                                     const ozfp4_cuda_prepared* prepared_a, const void* b, int64_t ldb,
                                                     const ozfp4_cuda_prepared* prepared_b, const void* beta, const void* c,
                                                     int64_t ldc, const ozfp4_options* options, int64_t* bytes) {
  return guarded([&] {
    const DevicePlace place = size_into(bytes, c);
    if (prepared_a == nullptr) a = or_aligned(a);
    if (prepared_b == nullptr) b = or_aligned(b);
    multiply(completed(OZFP4_PREPARED(of(prepared_a), of(prepared_b)), alpha, beta), options, place);
  });
}

}  // extern "C"
