// ozfp4_?gram
#include "c_api/arguments.hpp"
#include "c_api/options.hpp"
#include "c_api/status.hpp"
#include "product/check.hpp"
#include "product/cpu/product.hpp"

namespace ozfp4::c_api {
namespace {

struct GramCall {
  int order, transpose;
  std::int64_t n, k;
  GivenMatrix a, c;
};

void check_transpose(int transpose, bool is_complex) {
  is_transposed("trans", transpose);
  const int allowed = is_complex ? OZFP4_CONJ_TRANS : OZFP4_TRANS;
  if (transpose != OZFP4_NO_TRANS && transpose != allowed) {
    refuse("trans: " + std::to_string(transpose) + " is neither OZFP4_NO_TRANS (111) nor " +
           (is_complex ? "OZFP4_CONJ_TRANS (113): the result is Hermitian" : "OZFP4_TRANS (112)"));
  }
}

// C = X X^H as a product of X, n x k, and its adjoint.
Product to_gram(const GramCall& call, const CallOptions& options) {
  const EntryType type = call.c.type;
  const bool has_rows = is_row_major(call.order);
  check_transpose(call.transpose, type.is_complex);
  const std::int64_t n = check_extent("n", call.n), k = check_extent("k", call.k);
  if (n > 0 && k > 0) {
    check_entries("n", n, "k", k);
    check_entries("n", n, "n", n);
  }
  if (options.given.bound != nullptr) refuse(Fault::unsupported, "options.bound: a Gram matrix has none here; ozfp4_?gemm has");
  check_gram_rounding(type, options);
  // Memory that is column-major is read as the transpose of C, which is conj(X) X^T.
  const int transpose = call.transpose == OZFP4_NO_TRANS ? OZFP4_NO_TRANS : OZFP4_TRANS;
  Operand x = take_operand("a", call.order, transpose, call.a, n, k, true);
  x.is_conjugated = type.is_complex && (call.transpose != OZFP4_NO_TRANS) == has_rows;
  check_leading("ldc", call.c.leading, n);
  check_pointer("c", call.c.data, n > 0);
  Operand adjoint = transposed(x);
  adjoint.is_conjugated = type.is_complex && !x.is_conjugated;
  auto* c = static_cast<char*>(const_cast<void*>(call.c.data));
  return {type, n, n, k, x, adjoint, type, type, {c, call.c.leading * type.bytes(), type.bytes()}};
}

void multiply(const GramCall& call, const ozfp4_options* given) {
  const CallOptions options = read_options(given, Entries::numbers, Unit::cpu);
  Ran ran;
  multiply_gram(to_gram(call, options), options, ran);
  write_report(options, ran);
}

void multiply(const GramCall& call, const ozfp4_options* given, const DevicePlace& place) {
  const CallOptions options = read_options(given, Entries::numbers, Unit::gpu);
  enqueue_gram(to_gram(call, options), options, place);
}

}  // namespace
}  // namespace ozfp4::c_api

using namespace ozfp4::c_api;  // of the definitions below alone

#define OZFP4_GRAM(letter, T, Factor, kType)                                                                                     \
  ozfp4_status ozfp4_##letter##gram(int order, int trans, int64_t n, int64_t k, const T* a, int64_t lda, T* c, int64_t ldc,      \
                                    const ozfp4_options* options) {                                                              \
    return guarded([&] { multiply(GramCall{order, trans, n, k, {kType, a, lda}, {kType, c, ldc}}, options); });                  \
  }                                                                                                                              \
  ozfp4_status ozfp4_cuda_##letter##gram(int order, int trans, int64_t n, int64_t k, const T* a, int64_t lda, T* c, int64_t ldc, \
                                         void* workspace, int64_t workspace_bytes, void* stream, const ozfp4_options* options) { \
    return guarded([&] {                                                                                                         \
      const DevicePlace place = place_of(workspace, workspace_bytes, stream);                                                    \
      multiply(GramCall{order, trans, n, k, {kType, a, lda}, {kType, c, ldc}}, options, place);                                  \
    });                                                                                                                          \
  }

extern "C" {

OZFP4_OF_EACH_LETTER(OZFP4_GRAM)

ozfp4_status ozfp4_cuda_workspace_size_gram(ozfp4_type type, int order, int trans, int64_t n, int64_t k, const void* a,
                                            int64_t lda, const void* c, int64_t ldc, const ozfp4_options* options,
                                            int64_t* bytes) {
  return guarded([&] {
    const DevicePlace place = size_into(bytes);
    const EntryType own = float_type("type", type);
    multiply(GramCall{order, trans, n, k, {own, or_aligned(a), lda}, {own, or_aligned(c), ldc}}, options, place);
  });
}

}  // extern "C"
