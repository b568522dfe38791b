// What a block of repair shares, and how it finds the listed entries of some tiles.
#pragma once

#include <cstdint>

#include "arith/accuracy/bound.hpp"
#include "arith/exact/double_dot.hpp"
#include "cuda/repair/operands.cuh"

namespace ozfp4::cuda::repairing {

inline constexpr int kWarps = 8;
inline constexpr int kThreads = 32 * kWarps;
inline constexpr int kTile = 64;      // rows and columns of a tile
inline constexpr int kMostTiles = 8;  // that a block looks at together, a warp each
inline constexpr int kMostSparse =
    256;                          // listed entries of a tile that are computed one by one; more are computed with all others
inline constexpr int kStep = 16;  // entries of K that a tile takes to shared memory at a time
inline constexpr int kPitch = kTile + 1;
inline constexpr int kMaskStep = 64;      // entries of K that a tile's lines are looked at for at a time
inline constexpr int kKnownSteps = 4096;  // of them it is remembered whether the rows are zero
inline constexpr int kExactParts = 4;     // sums of a warp, each of 8 lanes
inline constexpr int kExactPitch = 133;

struct Parameters {
  RepairJob job;
  std::int32_t tiles_x, tiles_y, group;  // tiles of a matrix; tiles that a block takes together, at most kMostTiles
  std::int64_t tiles, groups;            // of all matrices
};

// An entry of some tiles: tile, row and column in it.
using Spot = std::uint16_t;
__device__ __forceinline__ Spot make_spot(int tile, int row, int column) {
  return static_cast<Spot>((tile << 12) | (row << 6) | column);
}

// The products of a part of K, whether dot_bound may take them for safe, and whether both lines are nonzero at any index of it.
struct SparsePart {
  DoubleDot dot;
  bool is_safe = true, meets = false;
};

// Of a line, a bit for each of kMaskStep entries: whether it is nonzero.
union Mask {
  std::uint16_t part[4];
  std::uint32_t word[2];
  __device__ __forceinline__ uint2 words() const { return {word[0], word[1]}; }
};

struct Shared {
  union {
    Mask mask[2][2][kTile];  // of the rows and columns of a tile; of two steps in turn
    SparsePart part[kWarps];
    struct {
      double a[kStep][kPitch], b[kStep][kPitch];
    } stage;
    double sums[4][3][kThreads];                           // of the entries of one row of each thread
    std::int64_t digit[kWarps][kExactParts][kExactPitch];  // of exact sums
  };
  double factor[2][2][kTile];                   // of a dense tile's rows and columns: the halves of their powers of two
  std::uint32_t word[kMostTiles][kTile][2];     // the list
  std::uint32_t empty_steps[kKnownSteps / 32];  // steps of K in which all rows of the tile looked at last are known to be zero
  Spot sparse[kMostTiles * kMostSparse];
  Spot unsettled[kTile * kTile];
  std::uint32_t sparse_count, unsettled_count, dense_tiles;
  unsigned long long exact_count, disjoint_count;
};

// A tile of the block's result.
struct Tile {
  std::int32_t matrix, first_row, first_column;

  __device__ __forceinline__ Tile(const Parameters& p, std::int64_t index) {
    const std::int64_t of_matrix = std::int64_t(p.tiles_x) * p.tiles_y;
    matrix = static_cast<std::int32_t>(index / of_matrix);
    const auto rest = static_cast<std::int32_t>(index % of_matrix);
    first_row = rest / p.tiles_x * kTile;
    first_column = rest % p.tiles_x * kTile;
  }
};

// Columns [0, count) of 32. Range: any count.
__device__ __forceinline__ std::uint32_t first_bits(std::int32_t count) {
  return count <= 0 ? 0u : count >= 32 ? 0xffffffffu : (1u << count) - 1;
}

// One warp: marks tile number `slot` of the group as dense, or takes its entries to the sparse list, as many as its words have. A
// lane reads its own words alone.
__device__ __forceinline__ void sort_tile(Shared& shared, int slot) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  std::uint32_t word[2][2], count = 0;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      word[i][half] = shared.word[slot][lane + 32 * i][half];
      count += static_cast<std::uint32_t>(__popc(word[i][half]));
    }
  }
  const std::uint32_t total = __reduce_add_sync(0xffffffffu, count);
  if (lane == 0) {
    if (total > kMostSparse)
      atomicOr(&shared.dense_tiles, 1u << slot);
    else
      atomicAnd(&shared.dense_tiles, ~(1u << slot));
  }
  if (total > kMostSparse || count == 0) return;
  std::uint32_t at = atomicAdd(&shared.sparse_count, count);
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      for (std::uint32_t rest = word[i][half]; rest != 0; rest &= rest - 1) {
        shared.sparse[at++] = make_spot(slot, lane + 32 * i, 32 * half + __ffs(static_cast<int>(rest)) - 1);
      }
    }
  }
}

// One warp: the words of tile number `slot` of the group, a lane those of the rows `lane` and `lane` + 32.
__device__ __forceinline__ void scan_tile(Shared& shared, const Parameters& p, const Tile& tile, int slot) {
  const RepairJob& job = p.job;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const std::int32_t columns = job.result.columns - tile.first_column;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const std::int32_t row = tile.first_row + lane + 32 * i;
    uint2 both{0, 0};
    if (row < job.result.rows) {
      both = *reinterpret_cast<const uint2*>(job.listed.word + tile.matrix * job.listed.matrix_stride + row * job.listed.pitch +
                                             tile.first_column / 32);
    }
    shared.word[slot][lane + 32 * i][0] = both.x & first_bits(columns);
    shared.word[slot][lane + 32 * i][1] = both.y & first_bits(columns - 32);
  }
}

// Puts an entry, of the block's result, where it belongs.
template <class T>
__device__ __forceinline__ void store_entry(const RepairJob& job, const RepairMatrix& matrix, std::int64_t row,
                                            std::int64_t column, T value) {
  *reinterpret_cast<T*>(matrix.result + row * job.result.row_stride + column * job.result.column_stride) = value;
  if (matrix.bound != nullptr) {
    *reinterpret_cast<double*>(matrix.bound + row * job.bound.row_stride + column * job.bound.column_stride) =
        rounding_bound(value, job.rounding);
  }
}

}  // namespace ozfp4::cuda::repairing
