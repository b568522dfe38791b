// ozfp4_?gram
#include "c_api/gemm.hpp"
#include "c_api/options.hpp"
#include "c_api/status.hpp"
#include "product/cpu/product.hpp"

namespace ozfp4::c_api {
namespace {

// C = X X^H as a product of op(A) = X, n x k, and its adjoint.
Product to_gram(GivenProduct given, const CallOptions& options) {
  const EntryType type = given.c.type;
  const int adjoint = type.is_complex ? OZFP4_CONJ_TRANS : OZFP4_TRANS;
  if (is_transposed("trans", given.transa) && given.transa != adjoint) {
    refuse("trans: " + std::to_string(given.transa) + " is neither OZFP4_NO_TRANS (111) nor " +
           (type.is_complex ? "OZFP4_CONJ_TRANS (113): the result is Hermitian" : "OZFP4_TRANS (112)"));
  }
  if (check_extent("n", given.n) > 0 && check_extent("k", given.k) > 0) {
    check_entries("n", given.n, "k", given.k);
    check_entries("n", given.n, "n", given.n);
  }
  if (options.given.bound != nullptr) refuse_option(Fault::unsupported, "bound", "a Gram matrix has none here; ozfp4_?gemm has");
  if (type.is_complex && (options.rounding == Rounding::down || options.rounding == Rounding::up)) {
    refuse_option("rounding",
                  "'down' and 'up' give no Hermitian result, as conjugation reverses them for imaginary parts; allowed are "
                  "'nearest' and 'zero'");
  }
  given.transb = given.transa == OZFP4_NO_TRANS ? adjoint : OZFP4_NO_TRANS;
  Product product = to_product({given, 1, 0}, options);
  product.is_exchanged = false;  // column-major memory is read as conj(X) X^T, of which that is the first operand
  return product;
}

void multiply(const GivenProduct& call, const ozfp4_options* given) {
  const CallOptions options = read_options(given, Entries::numbers, Unit::cpu);
  Ran ran;
  multiply_gram(to_gram(call, options), options, ran);
  write_report(options, ran);
}

void multiply(const GivenProduct& call, const ozfp4_options* given, const DevicePlace& place) {
  const CallOptions options = read_options(given, Entries::numbers, Unit::gpu);
  enqueue_gram(to_gram(call, options), options, place);
}

}  // namespace
}  // namespace ozfp4::c_api

using namespace ozfp4::c_api;  // of the definitions below alone

// The call of a function below, from its arguments.
#define OZFP4_GRAM_CALL(type)                                                               \
  GivenProduct {                                                                            \
    order, trans, OZFP4_NO_TRANS, n, n, k, {type, a, lda}, {type, a, lda}, { type, c, ldc } \
  }

#define OZFP4_GRAM(letter, T, Factor, kType)                                                                                     \
  ozfp4_status ozfp4_##letter##gram(int order, int trans, int64_t n, int64_t k, const T* a, int64_t lda, T* c, int64_t ldc,      \
                                    const ozfp4_options* options) {                                                              \
    return guarded([&] { multiply(OZFP4_GRAM_CALL(kType), options); });                                                          \
  }                                                                                                                              \
  ozfp4_status ozfp4_cuda_##letter##gram(int order, int trans, int64_t n, int64_t k, const T* a, int64_t lda, T* c, int64_t ldc, \
                                         void* workspace, int64_t workspace_bytes, void* stream, const ozfp4_options* options) { \
    return guarded([&] { multiply(OZFP4_GRAM_CALL(kType), options, place_of(workspace, workspace_bytes, stream)); });            \
  }

extern "C" {

OZFP4_OF_EACH_LETTER(OZFP4_GRAM)

ozfp4_status ozfp4_cuda_workspace_size_gram(ozfp4_type type, int order, int trans, int64_t n, int64_t k, const void* a,
                                            int64_t lda, const void* c, int64_t ldc, const ozfp4_options* options,
                                            int64_t* bytes) {
  return guarded([&] {
    const DevicePlace place = size_into(bytes, a, c);
    const EntryType own = float_type("type", type);
    multiply(OZFP4_GRAM_CALL(own), options, place);
  });
}

}  // extern "C"
