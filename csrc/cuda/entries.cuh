// Entries of stacks of matrices in device memory: where they lie, and how they are read and written.
#pragma once

#include <cstdint>

#include "cuda/line_order.hpp"
#include "cuda/views.hpp"

namespace ozfp4::cuda {

// From the number of a matrix in a stack to its coordinates and its bytes. Precondition: the stacks that its functions take have
// the matrix.
struct StackIndex {
  std::int32_t matrix;

  // step(axis, coordinate) for each axis, the last one first.
  template <class Step>
  __device__ __forceinline__ void for_axes(const Stack& stack, Step&& step) const {
#pragma unroll 1
    for (std::int32_t axis = stack.rank - 1, rest = matrix; axis >= 0; --axis) {
      step(axis, rest % stack.extent[axis]);
      rest /= stack.extent[axis];
    }
  }

  // Bytes from the first matrix to this one.
  __device__ __forceinline__ std::int64_t offset(const Stack& stack) const {
    std::int64_t bytes = 0;
    for_axes(stack, [&](std::int32_t axis, std::int32_t coordinate) { bytes += coordinate * stack.stride[axis]; });
    return bytes;
  }
};

// A line of a stack. Lines are numbered through the whole stack: matrix * lines + line.
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

// A float64 or float32 number.
__device__ __forceinline__ double number_at(const char* at, bool is_double) {
  return is_double ? *reinterpret_cast<const double*>(at) : static_cast<double>(*reinterpret_cast<const float*>(at));
}

// The addend of an entry of the product, an entry of C: of a matrix, a row and a column of the block that `update` is for. It is
// 0 where there is no C.
__device__ __forceinline__ double addend_at(const DeviceUpdate& update, std::int32_t matrix, std::int64_t row,
                                            std::int64_t column) {
  const DeviceResult& c = update.c;
  if (c.data == nullptr) return 0.0;
  const char* at = c.data + StackIndex{matrix}.offset(c.stack) + row * c.row_stride + column * c.column_stride;
  return c.type == ElementType::float64 ? *reinterpret_cast<const double*>(at)
                                        : static_cast<double>(*reinterpret_cast<const float*>(at));
}

// The low bits of an integer as an entry of a result. Precondition: 1, 2, 4 or 8 bytes; the address is a multiple of them.
__device__ __forceinline__ void store_entry(char* address, std::uint64_t value, int bytes) {
  switch (bytes) {
    case 1: *reinterpret_cast<std::uint8_t*>(address) = static_cast<std::uint8_t>(value); return;
    case 2: *reinterpret_cast<std::uint16_t*>(address) = static_cast<std::uint16_t>(value); return;
    case 4: *reinterpret_cast<std::uint32_t*>(address) = static_cast<std::uint32_t>(value); return;
    default: *reinterpret_cast<std::uint64_t*>(address) = value; return;
  }
}

}  // namespace ozfp4::cuda
