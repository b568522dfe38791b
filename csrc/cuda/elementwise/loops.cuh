// How the kernels here walk over entries: along one count, along lines of matrices, or through tiles that change their order.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>

#include "arith/multiples.hpp"
#include "cuda/elementwise/matrices.hpp"
#include "cuda/launch.hpp"

namespace ozfp4::cuda {

inline constexpr int kThreads = 256;
inline constexpr int kSide = 32, kRows = kThreads / kSide;  // of a tile, and of the threads that move it
inline constexpr std::int64_t kMostBlocks = std::int64_t(1) << 20;

// Calls body(i) for all i below count.
template <class Body>
__device__ __forceinline__ void for_indices(std::int64_t count, const Body& body) {
  const std::int64_t step = std::int64_t(gridDim.x) * kThreads;
  for (std::int64_t i = std::int64_t(blockIdx.x) * kThreads + threadIdx.x; i < count; i += step) body(i);
}

// Calls body(matrix, row, column, is_inside) for all entries; all threads of a block do so together.
template <class Body>
__device__ __forceinline__ void for_entries(const MatrixExtents& extents, const Body& body) {
  const std::int64_t across = (extents.columns + kThreads - 1) / kThreads, lines = extents.matrices * extents.rows;
  for (std::int64_t at = blockIdx.x; at < across * lines; at += gridDim.x) {
    const std::int64_t line = at / across, column = (at - line * across) * kThreads + threadIdx.x;
    const std::int64_t matrix = line / extents.rows;
    body(matrix, line - matrix * extents.rows, column, column < extents.columns);
  }
}

// Calls store(matrix, row, column, load(matrix, row, column)) for all entries. Neighbouring threads store along columns, and load
// along them too or, by way of shared memory, along rows. Blocks of kSide x kRows.
template <class Entry, class Load, class Store>
__device__ __forceinline__ void for_tiles(const MatrixExtents& extents, bool loads_along_columns, const Load& load,
                                          const Store& store) {
  __shared__ Entry tile[kSide][kSide + 1];
  const std::int64_t across = (extents.columns + kSide - 1) / kSide, down = (extents.rows + kSide - 1) / kSide;
  const int lane = static_cast<int>(threadIdx.x);
  for (std::int64_t at = blockIdx.x; at < across * down * extents.matrices; at += gridDim.x) {
    const std::int64_t line = at / across, matrix = line / down;
    const std::int64_t column0 = (at - line * across) * kSide, row0 = (line - matrix * down) * kSide;
    for (int i = static_cast<int>(threadIdx.y); i < kSide; i += kRows) {
      const int row = loads_along_columns ? i : lane, column = loads_along_columns ? lane : i;
      if (row0 + row >= extents.rows || column0 + column >= extents.columns) continue;
      tile[row][column] = load(matrix, row0 + row, column0 + column);
    }
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.y); i < kSide; i += kRows) {
      if (row0 + i < extents.rows && column0 + lane < extents.columns) store(matrix, row0 + i, column0 + lane, tile[i][lane]);
    }
    __syncthreads();
  }
}

// ---- Their launches --------------------------------------------------------------------------------------------------------

inline LaunchConfig config_of_blocks(Stage stage, const char* detail, std::int64_t blocks, cudaStream_t stream) {
  LaunchConfig config(stage, detail, kThreads, stream);
  config.grid = dim3(static_cast<unsigned>(std::min(blocks, kMostBlocks)));
  return config;
}

inline LaunchConfig config_of_entries(Stage stage, const char* detail, const MatrixExtents& extents, cudaStream_t stream) {
  return config_of_blocks(stage, detail, ceil_div(extents.columns, kThreads) * extents.rows * extents.matrices, stream);
}

inline LaunchConfig config_of_tiles(Stage stage, const char* detail, const MatrixExtents& extents, cudaStream_t stream) {
  const std::int64_t tiles = ceil_div(extents.columns, kSide) * ceil_div(extents.rows, kSide) * extents.matrices;
  LaunchConfig config = config_of_blocks(stage, detail, tiles, stream);
  config.block = dim3(kSide, kRows);
  return config;
}

}  // namespace ozfp4::cuda
