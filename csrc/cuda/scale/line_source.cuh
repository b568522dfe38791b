// Where a line of a stack of matrices lies in memory. Lines are numbered through the whole stack: matrix * lines + line.
#pragma once

#include <cstdint>

#include "cuda/line_order.hpp"

namespace ozfp4::cuda {

// Byte offset of a matrix of the stack.
__device__ __forceinline__ std::int64_t matrix_offset(const Stack& stack, std::uint32_t matrix) {
  std::int64_t offset = 0;
  if (matrix == 0) return offset;
#pragma unroll
  for (int axis = kMaxStackRank - 1; axis >= 0; --axis) {
    if (axis >= stack.rank) continue;
    const auto extent = static_cast<std::uint32_t>(stack.extent[axis]);
    const std::uint32_t rest = matrix / extent;
    offset += static_cast<std::int64_t>(matrix - rest * extent) * stack.stride[axis];
    matrix = rest;
  }
  return offset;
}

struct LinePlace {
  std::uint32_t matrix, line;
};

__device__ __forceinline__ LinePlace place_of(std::uint32_t stacked_line, std::uint32_t lines_per_matrix) {
  if (stacked_line < lines_per_matrix) return {0, stacked_line};  // spares single matrices the division
  const std::uint32_t matrix = stacked_line / lines_per_matrix;
  return {matrix, stacked_line - matrix * lines_per_matrix};
}

}  // namespace ozfp4::cuda
