// An operand that ozfp4_prepare has made.
#pragma once

#include "c_api/checked/prepared/operand.hpp"
#include "cpu/prepared.hpp"
#include "cpu/runtime/buffer.hpp"

struct ozfp4_prepared : ozfp4::c_api::Prepared {
  ozfp4::Buffer entries;        // a copy of the real operand
  ozfp4::OperandView view;      // of that
  ozfp4::PreparedOperand held;  // without planes where there are no entries
  std::int64_t bytes;
};
