// alpha X + beta C of integers.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "arith/element_type.hpp"

namespace ozfp4::cuda {

// X, rows one behind the other, has the extents and the type of C, whose entries lie side by side; `stride` bytes from row to row
// of C.
struct IntegerSum {
  char* c = nullptr;
  ElementType type = ElementType::int64;
  std::int64_t rows = 0, columns = 0, stride = 0;
  const char* x = nullptr;  // null: zeros
  std::uint64_t alpha = 1, beta = 0;
};

// C = alpha X + beta C modulo 2^w of the w bits of its type; where beta is 0 C is not read. Neither synchronises nor allocates;
// may be captured. Throws LaunchError. Range: every extent at least 1, entries naturally aligned.
void launch_combine(const IntegerSum& sum, cudaStream_t stream);

}  // namespace ozfp4::cuda
