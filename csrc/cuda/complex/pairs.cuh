// Matrices of complex numbers in kernels that take an entry a thread.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>

#include "arith/multiples.hpp"
#include "cuda/complex/matrices.hpp"
#include "cuda/launch.hpp"

namespace ozfp4::cuda {

template <class T>
struct alignas(2 * sizeof(T)) Two {
  T re, im;
};

__device__ __forceinline__ char* place_of(const PairMatrices& x, std::int64_t matrix, std::int64_t row, std::int64_t column) {
  return x.data + matrix * x.matrix_stride + row * x.stride + column * x.column_stride;
}

// Entries that are aligned to their parts alone.
template <class T>
__device__ __forceinline__ Two<T> load_pair(const char* place) {
  const T* parts = reinterpret_cast<const T*>(place);
  return {parts[0], parts[1]};
}
template <class T>
__device__ __forceinline__ void store_pair(char* place, const Two<T>& x) {
  T* parts = reinterpret_cast<T*>(place);
  parts[0] = x.re;
  parts[1] = x.im;
}

inline constexpr int kPairThreads = 256;

// Calls body(matrix, row, column, is_inside) for all entries; all threads of a warp do so together. Blocks of kPairThreads.
template <class Body>
__device__ __forceinline__ void for_pairs(const PairExtents& extents, const Body& body) {
  const std::int64_t across = (extents.columns + kPairThreads - 1) / kPairThreads, lines = extents.matrices * extents.rows;
  for (std::int64_t at = blockIdx.x; at < across * lines; at += gridDim.x) {
    const std::int64_t line = at / across, column = (at - line * across) * kPairThreads + threadIdx.x;
    const std::int64_t matrix = line / extents.rows;
    body(matrix, line - matrix * extents.rows, column, column < extents.columns);
  }
}

// The launch of such a kernel.
inline LaunchConfig config_of_pairs(const PairExtents& extents, const char* detail, cudaStream_t stream) {
  constexpr std::int64_t most_blocks = std::int64_t(1) << 20;
  LaunchConfig config;
  config.stage = Stage::reconstruct;
  config.detail = detail;
  config.grid = dim3(
      static_cast<unsigned>(std::min(ceil_div(extents.columns, kPairThreads) * extents.rows * extents.matrices, most_blocks)));
  config.block = dim3(kPairThreads);
  config.stream = stream;
  return config;
}

}  // namespace ozfp4::cuda
