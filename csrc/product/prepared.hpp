// An operand that is scaled and encoded once, for any number of products, on the CPU or on a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "plan/plan.hpp"
#include "product/matrices.hpp"
#include "product/options.hpp"

namespace ozfp4::product {

// A stack's extent and bytes from matrix to matrix along each axis, the outermost first.
using StackOf = std::vector<std::pair<std::int64_t, std::ptrdiff_t>>;

// op(X) in the row-major product, X or X^T of it, or a stack of such, and the real operand that becomes of each: `outer` lines of
// `inner` numbers along K.
struct ToPrepare {
  EntryType type;
  bool is_left, is_row_major;
  Operand x;
  std::int64_t outer, inner;
  int precision;             // of the results
  bool is_for_real = false;  // a complex operand that is multiplied with real ones
  bool stays = false;        // on a GPU: the entries stay where they are, and as they are, so that they are not copied
  StackOf axes{};

  std::int64_t count() const {
    std::int64_t matrices = 1;
    for (const auto& [extent, step] : axes) matrices *= extent;
    return matrices;
  }
  bool is_there() const { return outer > 0 && inner > 0 && count() > 0; }
  // The offset of the matrix of this number.
  std::ptrdiff_t offset_of(std::int64_t number) const {
    std::ptrdiff_t offset = 0;
    for (auto axis = axes.rbegin(); axis != axes.rend(); number /= axis->first, ++axis) {
      offset += number % axis->first * axis->second;
    }
    return offset;
  }
};

// Facts of a prepared operand, wherever it lies.
struct Prepared {
  EntryType type;
  bool is_left;       // of the row-major product
  bool is_row_major;  // the order that it was given with
  std::int64_t rows, columns;
  std::shared_ptr<const Plan> plan;
  Accuracy accuracy;
  StackOf axes{};  // of the copies

  // Bytes from matrix to matrix along an axis of a stack of so many; 0 where it has no such axis or repeats along it.
  std::ptrdiff_t step(std::size_t rank, std::size_t axis) const {
    return axis + axes.size() < rank ? 0 : axes[axis + axes.size() - rank].second;
  }
};

// Both may be the operands of one product.
bool are_alike(const Prepared& a, const Prepared& b);

// The options of a product of such an operand, with its accuracy and plan. Throws Refusal where others are asked for.
Options options_of_prepared(Options options, const Prepared& made);

}  // namespace ozfp4::product
