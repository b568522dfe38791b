// ozfp4_?gram: blocks on and above the diagonal are multiplied; those below it are copied.
#include "c_api/checked/gram.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "arith/exact/conjugate.hpp"
#include "arith/multiples.hpp"
#include "c_api/checked/status.hpp"
#include "c_api/product/product.hpp"
#include "cpu/runtime/matrix_view.hpp"
#include "cpu/runtime/threads.hpp"
#include "plan/cuts.hpp"

namespace ozfp4::c_api {
namespace {

constexpr std::int64_t kSide = 32;  // of squares that are read and written together

// Rows [first, last) left of column `first` from the columns above: the adjoint. `is_settled`: left of the diagonal, and the
// imaginary part on it is +0, as chains of fused multiply-adds leave roundings and infinities there. It is NaN, and stays, where
// a line holds NaN or infinity, and only there.
template <class T>
void mirror(const MatrixProduct& product, std::int64_t first, std::int64_t last, bool is_settled) {
  const int parts = product.type.is_complex ? 2 : 1;
  const std::int64_t entry = product.type.bytes();
  const auto copy = [&](std::int64_t row, std::int64_t column) {
    const char* from = product.c + column * product.c_stride + row * entry;
    char* to = product.c + row * product.c_stride + column * entry;
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
    char* imaginary = product.c + i * (product.c_stride + entry) + sizeof(T);
    if (!std::isnan(load<T>(imaginary))) store(imaginary, T(0));
  }
}

void run(const GramCall& call, const ozfp4_options* given) {
  const Options options = read_options(given);
  const MatrixProduct product = check_gram(call, options);
  const std::vector<ColumnRange> blocks = gram_blocks(product.n, kGramColumns);
  Ran ran;
  // The largest product first: where it is refused, nothing has been written.
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    multiply({part_of(product, *block), nullptr, nullptr}, options, ran);
    const bool is_settled = product.type.is_complex && options.accuracy == Accuracy::standard;
    with_float(product.type.part, [&](auto zero) { mirror<decltype(zero)>(product, block->first, block->last, is_settled); });
  }
  ran.outcome.special_columns = ran.outcome.special_rows = std::min(ran.outcome.special_rows, product.n);
  ran.report(options);
}

}  // namespace
}  // namespace ozfp4::c_api

using namespace ozfp4;
using namespace ozfp4::c_api;  // of the definitions below alone

#define OZFP4_GRAM(letter, T, kType)                                                                                        \
  ozfp4_status ozfp4_##letter##gram(int order, int trans, int64_t n, int64_t k, const T* a, int64_t lda, T* c, int64_t ldc, \
                                    const ozfp4_options* options) {                                                         \
    return guarded([&] { run({kType, order, trans, n, k, a, lda, c, ldc}, options); });                                     \
  }

extern "C" {

OZFP4_GRAM(d, double, kD)
OZFP4_GRAM(s, float, kS)
OZFP4_GRAM(z, void, kZ)
OZFP4_GRAM(c, void, kC)

}  // extern "C"
