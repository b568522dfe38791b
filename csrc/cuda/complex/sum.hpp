// alpha (A B) + beta C of complex matrices, where A B has been rounded before.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cuda/complex/matrices.hpp"

namespace ozfp4::cuda {

// Matrices of A B lie one behind the other, as their rows do, in pairs of c's type.
struct ComplexMatrixSum {
  PairExtents extents;
  PairMatrices c;                 // what is written
  PairMatrices addend;            // of c's type or float32; may be c itself; null: beta is 0
  const char* product = nullptr;  // null: zeros
  const char* rest = nullptr;     // A B less `product`, 0 where a part of it is not finite; null: zeros
  PairMatrices bound;             // float64: of the errors of c
  const char* lost = nullptr;     // likewise of `product`, or of both, float64, beside each other as its entries are; null: zeros
  double alpha[2] = {1, 0}, beta[2] = {0, 0};
};

// c = alpha (product + rest) + beta addend, as combine_complex on the CPU (cpu/complex/combine.hpp), and where there are bounds
// half a unit in the last place of each part and |alpha| times what was lost, rounded up (arith/update/part_sum.hpp). Neither
// synchronises nor allocates; may be captured. Throws LaunchError. Range: every extent at least 1, finite factors.
void launch_sum(const ComplexMatrixSum& sum, cudaStream_t stream);

}  // namespace ozfp4::cuda
