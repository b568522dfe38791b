// Gram matrices: blocks on and above the diagonal are multiplied; those below it are copied.
#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "arith/exact/conjugate.hpp"
#include "arith/multiples.hpp"
#include "cpu/runtime/matrix_view.hpp"
#include "cpu/runtime/threads.hpp"
#include "product/cpu/product.hpp"

namespace ozfp4::product {
namespace {

constexpr std::int64_t kSide = 32;  // of squares that are read and written together

// A matrix that is its own adjoint, of pairs where it is complex. `is_conjugated`: the imaginary part below the diagonal is the
// negative of that above.
struct Mirrored {
  ResultMatrix c;
  bool is_complex, is_conjugated;
};

// Rows [first, last) left of column `first` from the columns above: the adjoint. `to_diagonal`: left of the diagonal.
template <class T>
void mirror(const Mirrored& matrix, std::int64_t first, std::int64_t last, bool to_diagonal) {
  const ResultMatrix& c = matrix.c;
  const auto copy = [&](std::int64_t row, std::int64_t column) {
    const char* from = c.data + column * c.row_stride + row * c.column_stride;
    char* to = c.data + row * c.row_stride + column * c.column_stride;
    store(to, load<T>(from));
    if (!matrix.is_complex) return;
    const T imaginary = load<T>(from + sizeof(T));
    if constexpr (std::is_floating_point_v<T>) store(to + sizeof(T), matrix.is_conjugated ? conjugated(imaginary) : imaginary);
  };
  const std::int64_t end_column = to_diagonal ? last : first;
  parallel_for(ceil_div(end_column, kSide), 4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t column = begin * kSide; column < std::min(end * kSide, end_column); column += kSide) {
      for (std::int64_t row = first; row < last; row += kSide) {
        for (std::int64_t i = row; i < std::min(row + kSide, last); ++i) {
          for (std::int64_t j = column; j < std::min({column + kSide, end_column, i}); ++j) copy(i, j);
        }
      }
    }
  });
}

// The imaginary part on the diagonal is +0, as chains of fused multiply-adds leave roundings and infinities there. It is NaN, and
// stays, where a line holds NaN or infinity, and only there.
template <class T>
void make_diagonal_real(const ResultMatrix& c, std::int64_t first, std::int64_t last) {
  for (std::int64_t i = first; i < last; ++i) {
    char* imaginary = c.data + i * (c.row_stride + c.column_stride) + sizeof(T);
    if (!std::isnan(load<T>(imaginary))) store(imaginary, T(0));
  }
}

// Mirrors the part below a block of columns, in every matrix.
void complete(const Product& gram, const Block& block, bool is_chained) {
  const std::int64_t first = block.column, last = block.column + block.columns, count = gram.is_there() ? gram.count() : 0;
  const bool is_complex = gram.type.is_complex, has_real_diagonal = is_complex && is_chained;
  for (std::int64_t item = 0; item < count; ++item) {
    const Product one = matrix_at(gram, item);
    with_float(gram.type.part, [&](auto zero) {
      using T = decltype(zero);
      mirror<T>({one.c, is_complex, true}, first, last, has_real_diagonal);
      if (has_real_diagonal) make_diagonal_real<T>(one.c, first, last);
    });
    if (one.bound.exists()) mirror<double>({one.bound, is_complex, false}, first, last, true);
  }
}

void complete(const IntegerSum& gram, const Block& block) {
  const Product& p = gram.product;
  const std::int64_t count = p.is_there() ? p.count() : 0;
  for (std::int64_t item = 0; item < count; ++item) {
    with_integer(p.type.part, [&](auto zero) {
      mirror<decltype(zero)>({matrix_at(p, item).c, false, false}, block.column, block.column + block.columns, false);
    });
  }
}

// The blocks of a result of so many columns: rows down to the diagonal. The first one has all rows: where it is refused, nothing
// has been written.
std::vector<Block> blocks_of(std::int64_t n, std::int64_t least_columns) {
  std::vector<Block> blocks;
  for (const ColumnRange& columns : gram_blocks(n, least_columns != 0 ? least_columns : kGramColumns)) {
    blocks.insert(blocks.begin(), {0, columns.last, columns.first, columns.last - columns.first});
  }
  return blocks;
}

// As of a further block. Every line of the operand is one of the first block; the plan is that of blocks by planes, where there
// are any.
template <class Outcome>
void add_block(Outcome& ran, const Outcome& block, bool is_first) {
  const bool has_planes = block.plan != nullptr && block.outcome.by_planes.count > 0;
  if (is_first || (has_planes && ran.outcome.by_planes.count == 0)) ran.plan = block.plan;
  const std::int64_t special = is_first ? block.outcome.special_rows : ran.outcome.special_rows;
  ran.outcome.extend(block.outcome);
  ran.outcome.special_rows = ran.outcome.special_columns = special;
}

}  // namespace

void multiply_gram(const Product& gram, const Options& options, Ran& ran, std::int64_t least_columns) {
  const std::vector<Block> blocks = blocks_of(gram.n, least_columns);
  for (const Block& block : blocks) {
    Ran own;
    multiply(part_of(gram, block), options, own);
    add_block(ran, own, &block == &blocks.front());
    complete(gram, block, options.accuracy == Accuracy::standard);
  }
}

IntegersRan multiply_gram(const IntegerSum& gram, const Options& options, bool counts, std::int64_t least_columns) {
  IntegersRan ran;
  const std::vector<Block> blocks = blocks_of(gram.product.n, least_columns);
  for (const Block& block : blocks) {
    const IntegersRan own = multiply_integers(part_of(gram, block), options, counts);
    add_block(ran, own, &block == &blocks.front());
    ran.word_bits = std::max(ran.word_bits, own.word_bits);
    ran.overflows += own.overflows;
    complete(gram, block);
  }
  return ran;
}

}  // namespace ozfp4::product
