// How the entries of lines lie in memory: in which direction neighbours are closest, and whether several are one access.
#pragma once

#include <cstdint>

#include "arith/host_device.hpp"
#include "cuda/views.hpp"

namespace ozfp4::cuda {

// Whether entries of a line lie closer together than lines do, so that neighbouring threads take neighbours along K.
OZFP4_HD constexpr bool runs_along_k(std::int64_t outer_stride, std::int64_t inner_stride) {
  return (inner_stride < 0 ? -inner_stride : inner_stride) <= (outer_stride < 0 ? -outer_stride : outer_stride);
}

// The same of an operand, where strides along extents of 1 do not matter.
constexpr bool runs_along_k(const DeviceOperand& operand) {
  return operand.outer == 1 || (operand.inner > 1 && runs_along_k(operand.outer_stride, operand.inner_stride));
}

// Whether each of `lines` lines of every matrix of a stack starts at a multiple of `bytes`, a power of two.
inline bool are_aligned(const void* data, std::int64_t lines, std::int64_t line_stride, const Stack& stack, std::uint64_t bytes) {
  std::uint64_t low = reinterpret_cast<std::uintptr_t>(data);
  if (lines > 1) low |= static_cast<std::uint64_t>(line_stride);
  for (int axis = 0; axis < stack.rank; ++axis) {
    if (stack.extent[axis] > 1) low |= static_cast<std::uint64_t>(stack.stride[axis]);
  }
  return low % bytes == 0;
}

// Whether 16-byte loads along K are possible: entries adjacent, every line of every matrix 16-byte aligned.
inline bool has_aligned_lines(const DeviceOperand& operand, int entry_bytes) {
  return (operand.inner_stride == entry_bytes || operand.inner == 1) &&
         are_aligned(operand.data, operand.outer, operand.outer_stride, operand.stack, 16);
}

}  // namespace ozfp4::cuda
