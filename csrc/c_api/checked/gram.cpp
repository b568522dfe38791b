#include "c_api/checked/gram.hpp"

#include <string>

#include "c_api/checked/status.hpp"

namespace ozfp4::c_api {
namespace {

void check_transpose(int transpose, bool is_complex) {
  is_transposed("trans", transpose);
  const int allowed = is_complex ? OZFP4_CONJ_TRANS : OZFP4_TRANS;
  if (transpose != OZFP4_NO_TRANS && transpose != allowed) {
    refuse("trans: " + std::to_string(transpose) + " is neither OZFP4_NO_TRANS (111) nor " +
           (is_complex ? "OZFP4_CONJ_TRANS (113): the result is Hermitian" : "OZFP4_TRANS (112)"));
  }
}

void check_options(const CallOptions& options, bool is_complex) {
  if (options.bound != nullptr) refuse(Fault::unsupported, "options.bound: a Gram matrix has none here; ozfp4_?gemm has");
  if (is_complex && (options.rounding == Rounding::down || options.rounding == Rounding::up)) {
    refuse(
        "options.rounding: OZFP4_ROUND_DOWN and OZFP4_ROUND_UP give no Hermitian result, as conjugation turns them round for "
        "imaginary parts; allowed are OZFP4_ROUND_NEAREST and OZFP4_ROUND_ZERO");
  }
}

}  // namespace

MatrixProduct check_gram(const GramCall& call, const CallOptions& options) {
  const EntryType type = call.type;
  const bool has_rows = is_row_major(call.order);
  check_transpose(call.transpose, type.is_complex);
  const std::int64_t n = check_extent("n", call.n), k = check_extent("k", call.k);
  if (n > 0 && k > 0) {
    check_entries("n", n, "k", k);
    check_entries("n", n, "n", n);
  }
  check_options(options, type.is_complex);
  // Memory that is column-major is read as the transpose of C, which is conj(X) X^T.
  const int transpose = call.transpose == OZFP4_NO_TRANS ? OZFP4_NO_TRANS : OZFP4_TRANS;
  Operand x = take_operand("a", call.order, transpose, call.a, n, k, call.lda, type.bytes());
  x.is_conjugated = type.is_complex && (call.transpose != OZFP4_NO_TRANS) == has_rows;
  check_leading("ldc", call.ldc, n);
  check_pointer("a", call.a, n > 0 && k > 0);
  check_pointer("c", call.c, n > 0);
  Operand adjoint = transposed(x);
  adjoint.is_conjugated = type.is_complex && !x.is_conjugated;
  const std::ptrdiff_t line = call.ldc * type.bytes();
  return {type, n, n, k, x, adjoint, static_cast<char*>(call.c), line, 1.0, 0.0, nullptr, 0};
}

}  // namespace ozfp4::c_api
