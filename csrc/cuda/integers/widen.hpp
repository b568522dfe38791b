// Integers of fewer bits as those of 64 that scale and encode take.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "arith/element_type.hpp"

namespace ozfp4::cuda {

// Lines of integers side by side; `stride` bytes from line to line.
struct IntegerLines {
  const char* data = nullptr;
  ElementType type = ElementType::int32;
  std::int64_t lines = 0, entries = 0, stride = 0;
};

// The same as int64, lines one behind the other. Neither synchronises nor allocates; may be captured. Throws LaunchError. Range:
// integers of at most 32 bits, every extent at least 1, entries naturally aligned, `to` aligned to 8.
void launch_widen(const IntegerLines& from, char* to, cudaStream_t stream);

}  // namespace ozfp4::cuda
