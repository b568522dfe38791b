// An operand that ozfp4_prepare has made.
#pragma once

#include "c_api/product/product.hpp"
#include "cpu/prepared.hpp"
#include "cpu/runtime/buffer.hpp"

struct ozfp4_prepared {
  ozfp4::c_api::EntryType type;
  bool is_left;       // of the row-major product
  bool is_row_major;  // the order that it was given with
  std::int64_t rows, columns;
  std::shared_ptr<const ozfp4::Plan> plan;
  ozfp4::Accuracy accuracy;
  ozfp4::Buffer entries;        // a copy of the real operand
  ozfp4::OperandView view;      // of that
  ozfp4::PreparedOperand held;  // without planes where there are no entries
  std::int64_t bytes;
};
