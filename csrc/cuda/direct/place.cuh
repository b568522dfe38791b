// Where a block of a product in one launch works, and how such a launch is made: a block takes 8 rows and 32 columns, a warp one
// row, a lane one entry.
#pragma once

#include <cstdint>

#include "arith/multiples.hpp"
#include "cuda/direct/own_lines.cuh"
#include "cuda/launch.hpp"
#include "cuda/line_order.hpp"
#include "cuda/reconstruct/reconstruct.hpp"

namespace ozfp4::cuda::direct {

inline constexpr int kRows = 8, kColumns = 32, kLines = kRows + kColumns;
inline constexpr int kThreads = 32 * kRows;
inline constexpr int kChunk = 64;  // entries of K that are in shared memory at a time

__device__ __forceinline__ Place place_of_block(std::int32_t tiles_x) {
  const std::int32_t tile_y = static_cast<std::int32_t>(blockIdx.x) / tiles_x,
                     tile_x = static_cast<std::int32_t>(blockIdx.x) % tiles_x;
  return {static_cast<std::int32_t>(blockIdx.y), tile_y * kRows, tile_x * kColumns};
}

inline std::int64_t direct_tiles_x(const DeviceResult& result) { return ceil_div(result.columns, kColumns); }

// Whether the blocks of all matrices are a grid.
inline bool fits_direct_grid(const DeviceResult& result) {
  return result.stack.count() <= kMostGridExtent && ceil_div(result.rows, kRows) * direct_tiles_x(result) <= INT32_MAX;
}

inline LaunchConfig direct_config(const ReconstructJob& job, cudaStream_t stream) {
  LaunchConfig config;
  config.stage = Stage::direct;
  config.grid = dim3(static_cast<unsigned>(direct_tiles_x(job.result) * ceil_div(job.result.rows, kRows)),
                     static_cast<unsigned>(job.result.stack.count()));
  config.block = dim3(kThreads);
  config.overlap_previous = job.overlap_previous;
  config.stream = stream;
  return config;
}

}  // namespace ozfp4::cuda::direct
