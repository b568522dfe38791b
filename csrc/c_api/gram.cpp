// ozfp4_?gram: blocks on and above the diagonal are multiplied; those below it are copied.
#include <algorithm>
#include <string>
#include <vector>

#include "arith/multiples.hpp"
#include "c_api/checked/status.hpp"
#include "c_api/product/product.hpp"
#include "cpu/runtime/matrix_view.hpp"
#include "cpu/runtime/threads.hpp"
#include "plan/cuts.hpp"

namespace ozfp4::c_api {
namespace {

constexpr std::int64_t kSide = 32;  // of squares that are read and written together

// Rows [first, last) left of column `first` from the columns above: the adjoint. An imaginary part of +0 stays one, as in a
// product.
template <class T>
void mirror(const Product& product, std::int64_t first, std::int64_t last) {
  const int parts = product.type.is_complex ? 2 : 1;
  const std::int64_t entry = product.type.bytes();
  const auto copy = [&](std::int64_t row, std::int64_t column) {
    const char* from = product.c + column * product.c_stride + row * entry;
    char* to = product.c + row * product.c_stride + column * entry;
    store(to, load<T>(from));
    if (parts == 2) store(to + sizeof(T), static_cast<T>(T(0) - load<T>(from + sizeof(T))));
  };
  parallel_for(ceil_div(first, kSide), 4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t column = begin * kSide; column < std::min(end * kSide, first); column += kSide) {
      for (std::int64_t row = first; row < last; row += kSide) {
        for (std::int64_t i = row; i < std::min(row + kSide, last); ++i) {
          for (std::int64_t j = column; j < std::min(column + kSide, first); ++j) copy(i, j);
        }
      }
    }
  });
}

void check_transpose(int transpose, bool is_complex) {
  is_transposed("trans", transpose);
  const int allowed = is_complex ? OZFP4_CONJ_TRANS : OZFP4_TRANS;
  if (transpose != OZFP4_NO_TRANS && transpose != allowed) {
    refuse("trans: " + std::to_string(transpose) + " is neither OZFP4_NO_TRANS (111) nor " +
           (is_complex ? "OZFP4_CONJ_TRANS (113): the result is Hermitian" : "OZFP4_TRANS (112)"));
  }
}

void run(EntryType type, int order, int transpose, std::int64_t n, std::int64_t k, const void* a, std::int64_t lda, void* c,
         std::int64_t ldc, const ozfp4_options* given) {
  const Options options = read_options(given);
  const bool has_rows = is_row_major(order);
  check_transpose(transpose, type.is_complex);
  check_extent("n", n);
  check_extent("k", k);
  check_matrices(n, n, k);
  if (options.bound != nullptr) refuse(OZFP4_UNSUPPORTED, "options.bound: a Gram matrix has none here; ozfp4_?gemm has");
  if (type.is_complex && (options.rounding == Rounding::down || options.rounding == Rounding::up)) {
    refuse(
        "options.rounding: OZFP4_ROUND_DOWN and OZFP4_ROUND_UP give no Hermitian result, as conjugation turns them round for "
        "imaginary parts; allowed are OZFP4_ROUND_NEAREST and OZFP4_ROUND_ZERO");
  }
  // X, n x k, with C = X X^H; memory that is column-major is read as the transpose of C, which is conj(X) X^T.
  Operand x = take_operand("a", order, transpose == OZFP4_NO_TRANS ? OZFP4_NO_TRANS : OZFP4_TRANS, a, n, k, lda, type.bytes());
  x.is_conjugated = type.is_complex && (transpose != OZFP4_NO_TRANS) == has_rows;
  check_leading("ldc", ldc, n);
  check_pointer("a", a, n > 0 && k > 0);
  check_pointer("c", c, n > 0);
  Operand adjoint = transposed(x);
  adjoint.is_conjugated = type.is_complex && !x.is_conjugated;
  const std::int64_t entry = type.bytes();
  Ran ran;
  Product product{type, n, n, k, x, adjoint, static_cast<char*>(c), ldc * entry, 1.0, 0.0, nullptr, 0, nullptr, nullptr};
  const std::vector<ColumnRange> blocks = gram_blocks(n, kGramColumns);
  // The largest product first: where it is refused, nothing has been written.
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    Product own = product;
    own.m = own.a.rows = block->last;
    own.n = own.b.columns = block->last - block->first;
    if (own.b.data != nullptr) own.b.data += block->first * own.b.column_stride;
    if (own.c != nullptr) own.c += block->first * entry;
    multiply(own, options, ran);
    with_float(type.part, [&](auto zero) { mirror<decltype(zero)>(product, block->first, block->last); });
  }
  ran.outcome.special_columns = ran.outcome.special_rows = std::min(ran.outcome.special_rows, n);
  ran.report(options);
}

}  // namespace
}  // namespace ozfp4::c_api

using namespace ozfp4;
using namespace ozfp4::c_api;  // of the definitions below alone

#define OZFP4_GRAM(letter, T, part, is_complex)                                                                             \
  ozfp4_status ozfp4_##letter##gram(int order, int trans, int64_t n, int64_t k, const T* a, int64_t lda, T* c, int64_t ldc, \
                                    const ozfp4_options* options) {                                                         \
    return guarded([&] { run({ElementType::part, is_complex}, order, trans, n, k, a, lda, c, ldc, options); });             \
  }

extern "C" {

OZFP4_GRAM(d, double, float64, false)
OZFP4_GRAM(s, float, float32, false)
OZFP4_GRAM(z, void, float64, true)
OZFP4_GRAM(c, void, float32, true)

}  // extern "C"
