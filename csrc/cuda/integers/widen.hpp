// Integers as those of 64 bits that scale and encode take, or nearest to zero modulo a number.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "arith/element_type.hpp"

namespace ozfp4::cuda {

// Lines of matrices, strides in bytes; along `entry_stride` neighbours are read together.
struct IntegerLines {
  const char* data = nullptr;
  ElementType type = ElementType::int32;
  std::int64_t lines = 0, entries = 0, line_stride = 0, entry_stride = 0;
  std::int64_t modulus = 0;  // 0: none
  std::int64_t matrices = 1, matrix_stride = 0;
};

// The same as int64, or modulo the modulus, lines and matrices one behind the other. Neither synchronises nor allocates; may be
// captured. Throws LaunchError. Range: every extent at least 1, entries naturally aligned, `to` aligned to 8; integers of at most
// 32 bits, or a modulus.
void launch_widen(const IntegerLines& from, char* to, cudaStream_t stream);

}  // namespace ozfp4::cuda
