// A prepared operand on the CPU: a copy of its real form, and what scale and encode made of it.
#pragma once

#include <cstdint>
#include <memory>

#include "cpu/prepared.hpp"
#include "cpu/runtime/buffer.hpp"
#include "product/prepared.hpp"

namespace ozfp4::product {

struct PreparedMatrix : Prepared {
  Buffer entries;        // a copy of the real operand
  OperandView view;      // of that
  PreparedOperand held;  // without planes where there are no entries
  std::int64_t bytes;
};

// Scales and encodes the operand into `made`, whose `rows` and `columns` are left as they are. Throws Refusal for options that
// no plan serves.
void prepare(const ToPrepare& own, const Options& options, PreparedMatrix& made);

}  // namespace ozfp4::product
