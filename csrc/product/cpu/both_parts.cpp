// alpha A B + beta C where a factor has a real and an imaginary part: A B is rounded, and then alpha (A B) + beta C. "correct"
// keeps A B as sums of two numbers.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cpu/complex/combine.hpp"
#include "cpu/runtime/buffer.hpp"
#include "cpu/runtime/matrix_view.hpp"
#include "plan/cuts.hpp"
#include "product/cpu/prepared.hpp"
#include "product/cpu/product.hpp"
#include "product/refusal.hpp"

namespace ozfp4::product {
namespace {

// 0 in place of parts that are not finite: those of A B less its rounded values where these are not.
void clear_special(char* data, std::int64_t parts, ElementType type) {
  with_float(type, [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t i = 0; i < parts; ++i) {
      char* place = data + i * static_cast<std::int64_t>(sizeof(T));
      if (!std::isfinite(load<T>(place))) store(place, T(0));
    }
  });
}

// The rows and columns of a block.
struct Place {
  std::int64_t row, rows, column, columns;
};

Product part_of(const Product& product, const Place& at) {
  Product part = product;
  part.m = part.a.rows = at.rows;
  part.n = part.b.columns = at.columns;
  if (part.a.data != nullptr) part.a.data += at.row * part.a.row_stride;
  if (part.b.data != nullptr) part.b.data += at.column * part.b.column_stride;
  part.c += at.row * part.c_stride + at.column * part.type.bytes();
  return part;
}

// A B, and what its rounding lost where `keeps_rest`, in memory of their own; then the sum.
void multiply_block(const Product& block, const Options& options, bool keeps_rest, Ran& ran) {
  const std::int64_t entry = block.type.bytes(), bytes = block.m * block.n * entry;
  const std::ptrdiff_t stride = block.n * entry;
  Buffer found, rest;
  std::vector<ComplexTerm> terms;
  if (block.alpha != 0.0) {
    found = allocate_buffer(bytes);
    if (keeps_rest) rest = allocate_buffer(bytes);
    Product alone = block;
    alone.alpha = 1;
    alone.beta = 0;
    alone.c = found.get();
    alone.c_stride = stride;
    multiply_complex(alone, options, ran);
    terms.push_back({block.alpha, found.get(), stride});
    if (keeps_rest) {
      std::copy_n(found.get(), bytes, rest.get());
      alone.c = rest.get();
      alone.beta = -1;
      Ran again;
      multiply_complex(alone, options, again);
      again.outcome.special_rows = again.outcome.special_columns = 0;  // the same ones
      ran.outcome.extend(again.outcome);
      clear_special(rest.get(), 2 * block.m * block.n, block.type.part);
      terms.push_back({block.alpha, rest.get(), stride});
    }
  }
  if (block.beta != 0.0) terms.push_back({block.beta, block.c, block.c_stride});
  combine_complex(terms, block.type.part, block.m, block.n, block.c, block.c_stride);
}

}  // namespace

void multiply_with_both_parts(const Product& product, const Options& options, Ran& ran) {
  if (product.m == 0 || product.n == 0) return;
  const std::int64_t entry = product.alpha == 0.0 ? 0 : both_parts_entry_bytes(product.type, options.accuracy, product.k);
  const CopyBytes bytes{0, 0, entry, product.prepared_a != nullptr, product.prepared_b != nullptr};
  const Extents block = cut_for_copies(product.m, product.n, bytes, options.workspace_limit / 2);
  for (std::int64_t row = 0; row < product.m; row += block.rows) {
    for (std::int64_t column = 0; column < product.n; column += block.columns) {
      const Place at{row, std::min(block.rows, product.m - row), column, std::min(block.columns, product.n - column)};
      const std::int64_t held = at.rows * at.columns * entry;
      if (held >= options.workspace_limit) {
        refuse_option(Fault::workspace, "workspace_limit",
                      std::to_string(options.workspace_limit) + " bytes are too few, the product before the sum takes " +
                          std::to_string(held));
      }
      Options own = options;
      own.workspace_limit -= held;
      Ran part;
      multiply_block(part_of(product, at), own, entry > product.type.bytes(), part);
      // Lines that a block before has counted are not counted again.
      if (row != 0) part.outcome.special_columns = 0;
      if (column != 0) part.outcome.special_rows = 0;
      part.outcome.workspace += held;
      ran.plan = part.plan;
      ran.outcome.extend(part.outcome);
    }
  }
}

}  // namespace ozfp4::product
