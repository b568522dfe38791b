// Where a line of a stack of matrices lies in memory. Lines are numbered through the whole stack: matrix * lines + line.
#pragma once

#include <cstdint>

#include "cuda/line_order.hpp"
#include "cuda/stack_index.cuh"

namespace ozfp4::cuda {

struct LinePlace {
  std::uint32_t matrix, line;
};

__device__ __forceinline__ LinePlace place_of(std::uint32_t stacked_line, std::uint32_t lines_per_matrix) {
  if (stacked_line < lines_per_matrix) return {0, stacked_line};  // spares single matrices the division
  const std::uint32_t matrix = stacked_line / lines_per_matrix;
  return {matrix, stacked_line - matrix * lines_per_matrix};
}

// Byte offset of a line of its matrix.
__device__ __forceinline__ std::int64_t line_offset(const Stack& stack, const LinePlace& place, std::uint32_t line,
                                                    std::int64_t outer_stride) {
  const std::int64_t offset = line * outer_stride;
  return place.matrix == 0 ? offset : offset + StackIndex{static_cast<std::int32_t>(place.matrix)}.offset(stack);
}

}  // namespace ozfp4::cuda
