// A prepared operand on the CPU: a copy of its real form, and what scale and encode made of it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/prepared.hpp"
#include "cpu/runtime/buffer.hpp"
#include "product/prepared.hpp"

namespace ozfp4::product {

struct PreparedMatrix : Prepared {
  Buffer entries;                     // copies of the real matrices, one behind the other
  OperandView view;                   // of the first one
  std::vector<PreparedOperand> held;  // of each; none where there are no entries
  std::vector<std::int64_t> stack;    // extents; two matrices for each of it where `parts` is 2
  int parts = 1;
  std::int64_t matrix_bytes, bytes;

  const Prepared* about() const { return this; }
  const char* first_entry() const { return entries.get(); }
  // Bytes from matrix to matrix along an axis of a stack of so many; 0 where it has no such axis or repeats along it.
  std::ptrdiff_t step(std::size_t rank, std::size_t axis) const {
    const std::size_t own = stack.size();
    if (axis + own < rank || stack[axis + own - rank] == 1) return 0;
    std::ptrdiff_t bytes_of_step = parts * matrix_bytes;
    for (std::size_t inner = axis + own - rank + 1; inner < own; ++inner) bytes_of_step *= stack[inner];
    return bytes_of_step;
  }
  OperandView view_at(const char* data) const {
    OperandView own = view;
    own.data = data;
    return own;
  }
  // The prepared form of the matrix whose copy begins there.
  const PreparedOperand* held_at(const char* data) const {
    return held.empty() ? nullptr : &held[static_cast<std::size_t>((data - entries.get()) / matrix_bytes)];
  }
};

// The CPU's, of a product there; null where the operand is not prepared.
inline const PreparedMatrix* on_cpu(const Prepared* prepared) { return static_cast<const PreparedMatrix*>(prepared); }

// Scales and encodes the operand into `made`, whose `rows` and `columns` are left as they are. Throws Refusal for options that
// no plan serves.
void prepare(const ToPrepare& own, const Options& options, PreparedMatrix& made);

}  // namespace ozfp4::product
