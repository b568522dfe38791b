// alpha (A B) + beta C of complex matrices, where A B has been rounded before.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "arith/element_type.hpp"

namespace ozfp4::cuda {

// Matrices of (re, im) pairs of `part`, float64 or float32. Those of A B lie one behind the other, as their rows do; `stride` and
// `matrix_stride` are bytes from row to row and from matrix to matrix of C, whose entries lie side by side.
struct ComplexMatrixSum {
  char* c = nullptr;
  ElementType part = ElementType::float64;
  std::int64_t matrices = 1, rows = 0, columns = 0, stride = 0, matrix_stride = 0;
  const char* product = nullptr;  // null: zeros
  const char* rest = nullptr;     // A B less `product`, 0 where a part of it is not finite; null: zeros
  double alpha[2] = {1, 0}, beta[2] = {0, 0};
};

// C = alpha (product + rest) + beta C, as combine_complex on the CPU (cpu/complex/combine.hpp); where beta is 0 C is not read.
// Neither synchronises nor allocates; may be captured. Throws LaunchError. Range: every extent at least 1, entries aligned to
// both of their parts, finite factors.
void launch_sum(const ComplexMatrixSum& sum, cudaStream_t stream);

}  // namespace ozfp4::cuda
