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
  int parts = 1;                      // matrices for each of the stack
  std::int64_t matrix_bytes, bytes;

  const Prepared* about() const { return this; }
  const char* first_entry() const { return entries.get(); }
  OperandView view_at(const char* data) const {
    OperandView own = view;
    own.data = data;
    return own;
  }
  // The prepared form of the matrix with a copy that begins there.
  const PreparedOperand* held_at(const char* data) const {
    return held.empty() ? nullptr : &held[static_cast<std::size_t>((data - entries.get()) / matrix_bytes)];
  }
};

// The CPU's, of a product there; null where the operand is not prepared.
inline const PreparedMatrix* on_cpu(const Prepared* prepared) { return static_cast<const PreparedMatrix*>(prepared); }

// Scales and encodes the operand into `made`; its `rows` and `columns` are left as they are. Throws Refusal for options without a
// plan.
void prepare(const ToPrepare& own, const Options& options, PreparedMatrix& made);

}  // namespace ozfp4::product
