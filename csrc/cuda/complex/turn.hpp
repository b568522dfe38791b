// i times complex matrices.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "arith/element_type.hpp"

namespace ozfp4::cuda {

// Rows of (re, im) pairs of `part`, float64 or float32, that lie side by side, so many bytes from row to row and from matrix to
// matrix.
struct PairMatrices {
  const char* data = nullptr;
  ElementType part = ElementType::float64;
  std::int64_t matrices = 1, rows = 0, columns = 0, stride = 0, matrix_stride = 0;
};

// i times them to `to`, rows and matrices one behind the other. Neither synchronises nor allocates; may be captured. Throws
// LaunchError. Range: every extent at least 1; entries aligned to both of their parts.
void launch_turn(const PairMatrices& from, void* to, cudaStream_t stream);

}  // namespace ozfp4::cuda
