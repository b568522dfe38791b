// alpha A B + beta C where a factor has a real and an imaginary part: A B is rounded, and then alpha (A B) + beta C. "correct"
// keeps A B as sums of two numbers.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "arith/accuracy/bound.hpp"
#include "arith/update/part_sum.hpp"
#include "cpu/complex/combine.hpp"
#include "cpu/runtime/buffer.hpp"
#include "cpu/runtime/matrix_view.hpp"
#include "cpu/runtime/threads.hpp"
#include "plan/cuts.hpp"
#include "plan/workspace_error.hpp"
#include "product/cpu/prepared.hpp"
#include "product/cpu/product.hpp"
#include "product/refusal.hpp"

namespace ozfp4::product {
namespace {

constexpr std::int64_t kBound = 2 * sizeof(double);

// 0 instead of parts that are not finite: those of A B less its rounded values where these are not.
void clear_special(char* data, std::int64_t parts, ElementType type) {
  with_float(type, [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t i = 0; i < parts; ++i) {
      char* place = data + i * static_cast<std::int64_t>(sizeof(T));
      if (!std::isfinite(load<T>(place))) store(place, T(0));
    }
  });
}

double load_part(const char* place, ElementType type) {
  return type == ElementType::float64 ? load<double>(place) : static_cast<double>(load<float>(place));
}

// Rows of pairs, one behind the other.
struct Pairs {
  Buffer data;
  std::ptrdiff_t stride = 0;

  Pairs(std::int64_t rows, std::int64_t columns, std::int64_t entry)
      : data(allocate_buffer(std::max<std::int64_t>(rows * columns * entry, 1))),
        stride(static_cast<std::ptrdiff_t>(columns * entry)) {}
  ResultMatrix view(std::int64_t entry) const { return {data.get(), stride, static_cast<std::ptrdiff_t>(entry)}; }
};

// Copies pairs from one matrix to another of another type, which holds all numbers of the first.
void copy_pairs(const ResultMatrix& from, ElementType part, const ResultMatrix& to, ElementType to_part, std::int64_t rows,
                std::int64_t columns) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      const char* source = from.data + i * from.row_stride + j * from.column_stride;
      char* place = to.data + i * to.row_stride + j * to.column_stride;
      for (int p = 0; p < 2; ++p) {
        const double value = load_part(source + p * entry_bytes(part), part);
        with_float(to_part, [&](auto zero) { store(place + p * entry_bytes(to_part), static_cast<decltype(zero)>(value)); });
      }
    }
  }
}

// Infinity where nothing is known.
double bound_of(double rounding, std::complex<double> alpha, double own, double other) {
  if (!std::isfinite(rounding) || !std::isfinite(own) || !std::isfinite(other)) return std::numeric_limits<double>::infinity();
  ExactSum sum;
  return sum_bound(sum.digit, rounding, alpha.real(), own, alpha.imag(), other);
}

// Bounds of what the parts of the result lose. `carried`: those of the product, null: nothing.
void write_bounds(const Product& block, const ResultMatrix& result, const Pairs* carried) {
  with_float(block.type.part, [&](auto zero) {
    using T = decltype(zero);
    parallel_for(block.m, 1 + (1 << 10) / (1 + block.n), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        for (std::int64_t j = 0; j < block.n; ++j) {
          const char* entry = result.data + i * result.row_stride + j * result.column_stride;
          char* place = block.bound.data + i * block.bound.row_stride + j * block.bound.column_stride;
          double lost[2] = {0, 0};
          if (carried != nullptr) std::memcpy(lost, carried->data.get() + i * carried->stride + j * kBound, sizeof lost);
          for (const int part : {0, 1}) {
            const double rounding = rounding_bound(load<T>(entry + part * sizeof(T)), Rounding::nearest);
            store(place + part * 8, bound_of(rounding, block.alpha, lost[part], lost[1 - part]));
          }
        }
      }
    });
  });
}

// A B, and what its rounding lost where `keeps_rest`, in memory of their own; then the sum.
void multiply_block(const Product& block, const Options& options, bool keeps_rest, Ran& ran) {
  const std::int64_t entry = block.type.bytes();
  const ElementType part = block.type.part;
  const auto pairs = [&](std::int64_t size) { return std::make_unique<Pairs>(block.m, block.n, size); };
  std::unique_ptr<Pairs> found, rest, carried, addend, sums;
  std::vector<ComplexTerm> terms;
  if (block.alpha != 0.0) {
    found = pairs(entry);
    if (block.bound.exists()) carried = pairs(kBound);
    Product alone = block;
    alone.alpha = 1;
    alone.beta = 0;
    alone.addend = {};
    alone.c = found->view(entry);
    if (carried) alone.bound = carried->view(kBound);
    multiply_complex(alone, options, ran);
    terms.push_back({block.alpha, found->data.get(), found->stride});
    if (keeps_rest) {
      rest = pairs(entry);
      alone.addend = alone.c;
      alone.addend_part = part;
      alone.beta = -1;
      alone.c = rest->view(entry);
      Ran again;
      multiply_complex(alone, options, again);
      again.outcome.special_rows = again.outcome.special_columns = 0;  // the same ones
      ran.outcome.extend(again.outcome);
      clear_special(rest->data.get(), 2 * block.m * block.n, part);
      terms.push_back({block.alpha, rest->data.get(), rest->stride});
    }
  }
  if (block.beta != 0.0) {
    const ResultMatrix& c = block.addend;
    const bool lies_so = block.addend_part == part && c.column_stride == entry;
    if (!lies_so) {
      addend = pairs(entry);
      copy_pairs(c, block.addend_part, addend->view(entry), part, block.m, block.n);
    }
    terms.push_back({block.beta, lies_so ? c.data : addend->data.get(), lies_so ? c.row_stride : addend->stride});
  }
  const bool is_apart = block.c.column_stride != entry;
  if (is_apart) sums = pairs(entry);
  const ResultMatrix to = is_apart ? sums->view(entry) : block.c;
  combine_complex(terms, part, block.m, block.n, to.data, to.row_stride);
  if (block.bound.exists()) write_bounds(block, to, carried.get());
  if (is_apart) copy_pairs(to, part, block.c, part, block.m, block.n);
}

// Bytes in addition to the result for each of its entries.
std::int64_t bytes_of(const Product& p, const Options& options) {
  const std::int64_t entry = p.type.bytes();
  std::int64_t bytes = p.alpha == 0.0 ? 0 : both_parts_entry_bytes(p.type, options.accuracy, p.k);
  if (p.beta != 0.0 && (p.addend_part != p.type.part || p.addend.column_stride != entry)) bytes += entry;
  if (p.bound.exists() && p.alpha != 0.0) bytes += kBound;
  return p.c.column_stride != entry ? bytes + entry : bytes;
}

}  // namespace

void multiply_with_both_parts(const Product& product, const Options& options, Ran& ran) {
  if (product.alpha == 0.0 || product.m == 0 || product.n == 0) {  // nothing is multiplied: a report names the plan all the same
    const Prepared* made = product.prepared_a != nullptr ? product.prepared_a : product.prepared_b;
    const bool is_paired = form_of(product) == ComplexForm::paired;
    ran.plan = made != nullptr ? made->plan
                               : plan_for(options, product.type.precision(), is_paired ? 2 * product.k : product.k, is_paired);
  }
  if (product.m == 0 || product.n == 0) return;
  const std::int64_t entry = bytes_of(product, options);
  const bool keeps_rest = both_parts_entry_bytes(product.type, options.accuracy, product.k) > product.type.bytes();
  const CopyBytes bytes{0, 0, entry, product.prepared_a != nullptr, product.prepared_b != nullptr};
  const Extents block = cut_for_copies(product.m, product.n, bytes, options.workspace_limit / 2);
  for (std::int64_t row = 0; row < product.m; row += block.rows) {
    for (std::int64_t column = 0; column < product.n; column += block.columns) {
      const Block at{row, std::min(block.rows, product.m - row), column, std::min(block.columns, product.n - column)};
      const std::int64_t held = at.rows * at.columns * entry;
      if (held >= options.workspace_limit) throw WorkspaceError(options.workspace_limit, held + 1);
      Options own = options;
      own.workspace_limit -= held;
      Ran part;
      multiply_block(part_of(product, at), own, keeps_rest, part);
      // Lines that a block before has counted are not counted again.
      if (row != 0) part.outcome.special_columns = 0;
      if (column != 0) part.outcome.special_rows = 0;
      part.outcome.workspace += held;
      if (part.plan != nullptr) ran.plan = part.plan;
      ran.outcome.extend(part.outcome);
    }
  }
}

}  // namespace ozfp4::product
