// From the number of a matrix in a stack to its coordinates and its bytes.
#pragma once

#include <cstdint>

#include "cuda/views.hpp"

namespace ozfp4::cuda {

// Precondition: the stacks that its functions take have the matrix.
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

}  // namespace ozfp4::cuda
