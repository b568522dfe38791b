// The lines of a block that makes its part of a product from the operands themselves: where they are, what is known of them; and
// how small products are launched.
#pragma once

#include <cstdint>

#include "arith/multiples.hpp"
#include "cuda/launch.hpp"
#include "cuda/line_order.hpp"
#include "cuda/reconstruct/lines.cuh"
#include "cuda/reconstruct/reconstruct.hpp"
#include "cuda/scale/found.cuh"

namespace ozfp4::cuda::direct {

// Where a block works: the first row and column of a matrix.
struct Place {
  std::int32_t matrix, first_row, first_column;
};

// The lines of a block of one operand.
struct Source {
  const char* data;  // of the first one
  std::int64_t outer_stride, inner_stride;
  std::int32_t lines;  // that there are
};

__device__ __forceinline__ Source source_of(const DeviceOperand& view, std::int32_t matrix, std::int32_t first, std::int32_t end,
                                            std::int32_t most) {
  return {view.data + StackIndex{matrix}.offset(view.stack) + first * view.outer_stride, view.outer_stride, view.inner_stride,
          min(most, end - first)};
}

// Keeps what scale finds of line number `at` of the block, of A's rows and then of B's columns.
template <bool Records, class Shared>
__device__ __forceinline__ void finish_line(Shared& shared, const CapacityRule& how, const Found& found, int at) {
  const OwnLine line = cuda::finish_line<Records>(found, how);
  shared.line[at] = line;
  if constexpr (Records) shared.record[at] = make_record(found.facts(), line.capacity);
}

// Leaves what was found of the first `lines` lines from number `at` on in the operand's own places, of which those of records may
// be null.
template <bool Records, class Shared>
__device__ __forceinline__ void keep(const Shared& shared, const ScaledOperand& operand, std::int64_t first_line, int at,
                                     int lines) {
  const int line = static_cast<int>(threadIdx.x);
  if (line >= lines) return;
  operand.shift[first_line + line] = shared.line[at + line].shift;
  operand.special[first_line + line] = static_cast<std::uint8_t>(shared.line[at + line].special);
  if constexpr (Records) {
    if (operand.record != nullptr) operand.record[first_line + line] = shared.record[at + line];
  }
}

// ---- Small products: a block takes 8 rows and 32 columns, a warp one row, a lane one entry --------------------------------

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
  LaunchConfig config(Stage::direct, nullptr, kThreads, stream, job.overlap_previous);
  config.grid = dim3(static_cast<unsigned>(direct_tiles_x(job.result) * ceil_div(job.result.rows, kRows)),
                     static_cast<unsigned>(job.result.stack.count()));
  return config;
}

}  // namespace ozfp4::cuda::direct
