// Matrices of complex numbers in kernels that take an entry a thread.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>

#include "arith/multiples.hpp"
#include "cuda/launch.hpp"

namespace ozfp4::cuda {

template <class T>
struct alignas(2 * sizeof(T)) Two {
  T re, im;
};

inline constexpr int kPairThreads = 256;

// Calls body(line, column, is_inside) for all entries of so many lines; all threads of a warp do so together. Blocks of
// kPairThreads.
template <class Body>
__device__ __forceinline__ void for_pairs(std::int64_t lines, std::int64_t columns, const Body& body) {
  const std::int64_t across = (columns + kPairThreads - 1) / kPairThreads;
  for (std::int64_t at = blockIdx.x; at < across * lines; at += gridDim.x) {
    const std::int64_t column = at % across * kPairThreads + threadIdx.x;
    body(at / across, column, column < columns);
  }
}

// The launch of such a kernel.
inline LaunchConfig config_of_pairs(std::int64_t lines, std::int64_t columns, const char* detail, cudaStream_t stream) {
  constexpr std::int64_t most_blocks = std::int64_t(1) << 20;
  LaunchConfig config;
  config.stage = Stage::reconstruct;
  config.detail = detail;
  config.grid = dim3(static_cast<unsigned>(std::min(ceil_div(columns, kPairThreads) * lines, most_blocks)));
  config.block = dim3(kPairThreads);
  config.stream = stream;
  return config;
}

}  // namespace ozfp4::cuda
