// Gram matrices: blocks on and above the diagonal are multiplied; those below it are copied.
#include "product/gram.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "arith/exact/conjugate.hpp"
#include "arith/multiples.hpp"
#include "cpu/runtime/matrix_view.hpp"
#include "cpu/runtime/threads.hpp"
#include "product/cpu/product.hpp"

namespace ozfp4::product {
namespace {

constexpr std::int64_t kSide = 32;  // of squares that are read and written together

// Rows [first, last) left of column `first` from the columns above: the adjoint. `is_settled`: left of the diagonal, and the
// imaginary part on it is +0, as chains of fused multiply-adds leave roundings and infinities there. It is NaN, and stays, where
// a line holds NaN or infinity, and only there.
template <class T>
void mirror(const Product& product, std::int64_t first, std::int64_t last, bool is_settled) {
  const int parts = product.type.is_complex ? 2 : 1;
  const ResultMatrix& c = product.c;
  const auto copy = [&](std::int64_t row, std::int64_t column) {
    const char* from = c.data + column * c.row_stride + row * c.column_stride;
    char* to = c.data + row * c.row_stride + column * c.column_stride;
    store(to, load<T>(from));
    if (parts == 2) store(to + sizeof(T), conjugated(load<T>(from + sizeof(T))));
  };
  const std::int64_t end_column = is_settled ? last : first;
  parallel_for(ceil_div(end_column, kSide), 4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t column = begin * kSide; column < std::min(end * kSide, end_column); column += kSide) {
      for (std::int64_t row = first; row < last; row += kSide) {
        for (std::int64_t i = row; i < std::min(row + kSide, last); ++i) {
          for (std::int64_t j = column; j < std::min({column + kSide, end_column, i}); ++j) copy(i, j);
        }
      }
    }
  });
  for (std::int64_t i = first; is_settled && i < last; ++i) {
    char* imaginary = c.data + i * (c.row_stride + c.column_stride) + sizeof(T);
    if (!std::isnan(load<T>(imaginary))) store(imaginary, T(0));
  }
}

}  // namespace

void multiply_gram(const Product& gram, const Options& options, Ran& ran) {
  const std::vector<ColumnRange> blocks = gram_blocks(gram.n, kGramColumns);
  // The largest product first: where it is refused, nothing has been written.
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    multiply(part_of(gram, *block), options, ran);
    const bool is_settled = gram.type.is_complex && options.accuracy == Accuracy::standard;
    with_float(gram.type.part, [&](auto zero) { mirror<decltype(zero)>(gram, block->first, block->last, is_settled); });
  }
  ran.outcome.special_columns = ran.outcome.special_rows = std::min(ran.outcome.special_rows, gram.n);
}

}  // namespace ozfp4::product
