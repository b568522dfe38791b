// The part of a Gram matrix below its diagonal.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "arith/element_type.hpp"

namespace ozfp4::cuda {

// A square matrix, row-major, of numbers or pairs of them; `stride` bytes from row to row.
struct Mirrored {
  char* data = nullptr;
  ElementType part = ElementType::float64;
  bool is_complex = false;
  std::int64_t stride = 0, first = 0, last = 0;
  // Of complex products of "standard": also the square of these rows and columns, whose imaginary parts on the diagonal are +0
  // where they are no NaN, as where lines are finite. Chains of fused multiply-adds leave roundings and infinities there.
  bool is_settled = false;
};

// Rows [first, last) left of column `first` from the columns above: the adjoint. Neither synchronises nor allocates; may be
// captured. Throws LaunchError. Range: 0 <= first <= last < 2^31; float64 or float32, rows aligned to their entries' parts.
void launch_mirror(const Mirrored& matrix, cudaStream_t stream);

}  // namespace ozfp4::cuda
