// Strided operands and results in device memory, stacks of matrices included. Passed to kernels by value.
#pragma once

#include <cstdint>

#include "arith/element_type.hpp"
#include "arith/update/update.hpp"

namespace ozfp4::cuda {

inline constexpr int kMaxStackRank = 4;

// A stack of matrices: matrix s has coordinates in `extent` (row-major, last fastest) and starts
// sum coordinate * stride bytes behind the first. Strides may be negative or zero. Precondition: fewer than 2^31 matrices.
struct Stack {
  int rank = 0;
  std::int32_t extent[kMaxStackRank] = {1, 1, 1, 1};
  std::int64_t stride[kMaxStackRank] = {0, 0, 0, 0};

  std::int64_t count() const {
    std::int64_t n = 1;
    for (int i = 0; i < rank; ++i) n *= extent[i];
    return n;
  }

  // A further axis. Precondition: rank < kMaxStackRank.
  void add_axis(std::int32_t matrices, std::int64_t bytes) {
    extent[rank] = matrices;
    stride[rank++] = bytes;
  }

  // Its first matrices along its first axis. Precondition: rank >= 1.
  Stack without_first() const {
    Stack rest;
    for (int i = 1; i < rank; ++i) rest.add_axis(extent[i], stride[i]);
    return rest;
  }
};

// Rows of A or columns of B: `outer` lines of `inner` entries along K, strides in bytes; entries naturally aligned.
struct DeviceOperand {
  const char* data = nullptr;
  ElementType type = ElementType::float64;  // float64, float32; int8 for int8_matmul
  std::int32_t outer = 0, inner = 0;
  std::int64_t outer_stride = 0, inner_stride = 0;
  Stack stack;  // distinct matrices only: axes along which the operand is broadcast are not part of it
  // B of a complex product: the first axis of the stack is that of the even and the odd columns (plan/plan.hpp, kPair).
  bool has_parts = false;

  // The parts that encode takes of it: of such parts, which have the same scales, the first alone.
  DeviceOperand encoded() const {
    DeviceOperand first = *this;
    if (has_parts) first.stack = stack.without_first();
    return first;
  }
};

// The result, float64 or float32 (int32 for int8_matmul).
struct DeviceResult {
  char* data = nullptr;
  ElementType type = ElementType::float64;
  std::int32_t rows = 0, columns = 0;
  std::int64_t row_stride = 0, column_stride = 0;
  Stack stack;
  // Output matrix s uses the operand matrices sum coordinate * step of A and of B; 0 along broadcast axes.
  std::int32_t a_step[kMaxStackRank] = {0, 0, 0, 0};
  std::int32_t b_step[kMaxStackRank] = {0, 0, 0, 0};
};

// The update of a product, alpha A B + beta C. C, of the result's extents and stack, is read where its data is not null, else
// beta is 0. It may be the result itself: its entries are read before they are written.
struct DeviceUpdate {
  bool is_asked = false;
  Update factors{};
  DeviceResult c;
};

}  // namespace ozfp4::cuda
