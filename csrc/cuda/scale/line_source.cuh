// Where a line of a stack of matrices lies in memory. Lines are numbered through the whole stack: matrix * lines + line.
#pragma once

#include <cstdint>

#include "cuda/views.hpp"

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

// Whether 16-byte loads along K are possible: entries adjacent, every line of every matrix 16-byte aligned.
inline bool has_aligned_lines(const DeviceOperand& operand, int entry_bytes) {
  std::uint64_t low = reinterpret_cast<std::uintptr_t>(operand.data);
  if (operand.outer > 1) low |= static_cast<std::uint64_t>(operand.outer_stride);
  for (int axis = 0; axis < operand.stack.rank; ++axis) {
    if (operand.stack.extent[axis] > 1) low |= static_cast<std::uint64_t>(operand.stack.stride[axis]);
  }
  return (operand.inner_stride == entry_bytes || operand.inner == 1) && low % 16 == 0;
}

// Whether neighbouring threads should take neighbouring entries of K rather than neighbouring lines.
inline bool runs_along_k(const DeviceOperand& operand) {
  const auto magnitude = [](std::int64_t x) { return x < 0 ? -x : x; };
  return operand.outer == 1 || (operand.inner > 1 && magnitude(operand.inner_stride) <= magnitude(operand.outer_stride));
}

}  // namespace ozfp4::cuda
