// The shared memory of a block of repair, and how it finds the listed entries of some tiles.
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
    256;  // listed entries of a tile that are computed one by one; more are computed with all others
inline constexpr int kMostUnmasked = 16;  // of them without a look at masks that there are
inline constexpr int kMaskedShare = 512;  // one of so many entries is listed, or more: masks of all lines are made
inline constexpr int kStep = 16;          // entries of K that a tile takes to shared memory at a time
inline constexpr int kPitch = kTile + 1;
inline constexpr int kMaskChunk = 1024;  // entries of K of which a tile's lines are asked for their bits at a time
inline constexpr int kChunkUnits = kMaskChunk / kMaskUnit;
inline constexpr int kPartTurns = 4;   // of a warp that makes masks: 32 words in each
inline constexpr int kExactParts = 4;  // sums of a warp, each of 8 lanes
inline constexpr int kExactPitch = 133;

// How the masks of an operand's lines are cut into parts, each for a warp. A part is a chunk of kPartTurns lines where K has the
// shorter stride, else a unit of 32 lines.
struct MaskWork {
  std::int32_t lines;           // of a matrix
  std::int32_t groups, pieces;  // of lines and of K
  bool is_along_k;
  std::int64_t parts;  // of all matrices
};

struct Parameters : TileCover<kTile, kTile> {
  RepairJob job;
  MaskWork a_masks, b_masks;
  std::int64_t most_unmasked;  // entries that are listed where masks of all lines do not pay
  std::int32_t group;          // tiles that a block takes together, at most kMostTiles
  std::int64_t groups;         // of all matrices

  explicit Parameters(const RepairJob& of) : TileCover(of.result), job(of) {}
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

// The bits of a chunk of a tile's lines. Both neighbouring lines and neighbouring units lie on different banks.
using MaskChunk = uint4[kChunkUnits][kTile + 1];

struct Shared {
  union {
    MaskChunk mask[2][2];  // of the rows and columns of a tile; of two chunks in turn
    SparsePart part[kWarps];
    struct {
      double a[kStep][kPitch], b[kStep][kPitch];
    } stage;
    double sums[4][3][kThreads];                           // of the entries of one row of each thread
    std::int64_t digit[kWarps][kExactParts][kExactPitch];  // of exact sums
  };
  double factor[2][2][kTile];                // of a dense tile's rows and columns: the halves of their powers of two
  std::uint32_t word[kMostTiles][kTile][2];  // the list
  Spot sparse[kMostTiles * kMostSparse];
  Spot unsettled[kTile * kTile];
  std::uint32_t sparse_count, unsettled_count, dense_tiles;
  unsigned long long exact_count, disjoint_count;
  bool has_masks;  // those of all lines are made
};

using Tile = TilePlace<kTile, kTile>;

// A listed entry of a block.
struct Entry {
  std::int32_t matrix;
  std::int64_t row, column;
};

// That of a spot in a group with the first tile `first`.
__device__ __forceinline__ Entry entry_of(const Parameters& p, std::int64_t first, Spot spot) {
  const Tile tile(p, first + (spot >> 12));
  return {tile.matrix, tile.first_row + ((spot >> 6) & 63), tile.first_column + (spot & 63)};
}

// One warp: marks tile number `slot` of the group as dense, or takes its entries to the sparse list, as many as its words have. A
// lane reads its own words alone. Tiles of more than `most` entries are dense. Precondition: at most kMostSparse.
__device__ __forceinline__ void sort_tile(Shared& shared, int slot, std::uint32_t most) {
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
    if (total > most)
      atomicOr(&shared.dense_tiles, 1u << slot);
    else
      atomicAnd(&shared.dense_tiles, ~(1u << slot));
  }
  if (total > most || count == 0) return;
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
__device__ __forceinline__ void store_entry(const RepairJob& job, const RepairMatrix& matrix, const Entry& entry, T value) {
  matrix.entry<T>(job, entry.row, entry.column) = value;
  if (matrix.bound != nullptr) matrix.entry_bound(job, entry.row, entry.column) = rounding_bound(value, job.rounding);
}

}  // namespace ozfp4::cuda::repairing
