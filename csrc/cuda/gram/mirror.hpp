// The part of a Gram matrix below its diagonal.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "arith/element_type.hpp"

namespace ozfp4::cuda {

// Square matrices of numbers or of pairs of them, strides in bytes.
struct Mirrored {
  char* data = nullptr;
  ElementType part = ElementType::float64;
  bool is_complex = false;
  bool is_conjugated = false;  // pairs: the adjoint, else the transpose
  std::int64_t row_stride = 0, column_stride = 0, first = 0, last = 0;
  // Also the square of these rows and columns. Imaginary parts of an adjoint on its diagonal become +0 where they are no NaN, as
  // where lines are finite: chains of fused multiply-adds leave roundings and infinities there.
  bool is_settled = false;
  std::int64_t matrices = 1, matrix_stride = 0;
};

// Rows [first, last) left of column `first` from the columns above. Neither synchronises nor allocates; may be captured. Throws
// LaunchError. Range: 0 <= first <= last < 2^31, at least one matrix; entries aligned to their parts, which are floating-point
// numbers where they are pairs.
void launch_mirror(const Mirrored& matrix, cudaStream_t stream);

}  // namespace ozfp4::cuda
