// alpha X + beta C of integers.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "arith/element_type.hpp"

namespace ozfp4::cuda {

// Matrices of integers, strides in bytes.
struct IntegerMatrices {
  char* data = nullptr;
  ElementType type = ElementType::int64;
  std::int64_t row_stride = 0, column_stride = 0, matrix_stride = 0;
};

struct IntegerSum {
  std::int64_t matrices = 1, rows = 0, columns = 0;
  IntegerMatrices to, x, addend;  // x.data null: zeros; the addend may be the result
  std::uint64_t alpha = 1, beta = 0;
  bool is_truth = false;  // the result is 1 where the sum is not 0, else 0
};

// The sum modulo 2^w of the w bits of the result's type; where beta is 0 the addend is not read. Neither synchronises nor
// allocates; may be captured. Throws LaunchError. Range: every extent at least 1, entries naturally aligned.
void launch_combine(const IntegerSum& sum, cudaStream_t stream);

}  // namespace ozfp4::cuda
