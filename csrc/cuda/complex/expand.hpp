// The right operand of a complex product as the real matrix that plans of it take (plan/plan.hpp, kPair).
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "arith/element_type.hpp"

namespace ozfp4::cuda {

// K x N complex matrices, one behind the other; strides in entries of two numbers of `type`, float64 or float32.
struct ComplexMatrices {
  const void* data = nullptr;
  ElementType type = ElementType::float64;
  std::int64_t matrices = 1, k = 0, n = 0;
  std::int64_t matrix_stride = 0, k_stride = 0, n_stride = 0;
  bool is_conjugated = false;  // what lies in memory is the conjugate
  bool is_turned = false;      // i times what lies in memory, conjugated or not, is meant
};

// Columns of 2 K numbers one behind the other: of every column (re, -im) along K, then (im, re). Neither synchronises nor
// allocates; may be captured. Throws LaunchError. Range: every extent at least 1; `to` aligned to two numbers.
void launch_expand(const ComplexMatrices& from, void* to, cudaStream_t stream);

}  // namespace ozfp4::cuda
