// What a block of settle shares. Blocks take work as it comes, by counters: nobody waits for a block that has not started.
#pragma once

#include <cstdint>

#include "arith/accuracy/certificate.hpp"
#include "cuda/repair/operands.cuh"
#include "cuda/standard/settle.hpp"

namespace ozfp4::cuda::settling {

inline constexpr int kWarps = 8, kThreads = 32 * kWarps;
inline constexpr int kRows = 128, kColumns = 64, kLines = kRows + kColumns;  // of a tile
inline constexpr int kWords = kColumns / 32;
inline constexpr int kMostGroup = kWarps;  // tiles that a block looks at together, a warp each
inline constexpr int kMostAlone = 64;      // chains of a tile that are made one by one; more are made with all others
// Of a warp, in magnitudes and on tensor cores: 4 x 2 warps make a tile.
inline constexpr int kWarpRows = 32, kWarpColumns = 32, kWarpsAlongRows = kRows / kWarpRows;
static_assert(kWarpsAlongRows * (kColumns / kWarpColumns) == kWarps);

inline constexpr int kByteStep = 64, kByteStages = 3;  // magnitudes along K in shared memory at a time
inline constexpr int kStep = 16, kStages = 3;          // entries of K of a tile of chains, in stages that take turns
inline constexpr int kPartLines = 32, kPartInner = 128, kPartPitch = kPartInner + 16;

// How the magnitudes of an operand's lines are cut into parts, a block's each.
struct PlaneParts {
  std::int32_t lines = 0, groups = 0, pieces = 0;  // of a matrix; of lines and of K
  std::int64_t all_lines = 0, parts = 0;           // of all matrices
};

struct Parameters {
  SettleJob job;
  PlaneParts a_parts, b_parts;
  std::int32_t tiles_x, tiles_y;  // of a matrix
  std::int64_t tiles;             // of all matrices
};

// An entry of a tile: 64 row + column.
using Spot = std::uint16_t;

struct Shared {
  union {
    alignas(16) std::uint8_t part[kPartLines][kPartPitch];
    alignas(128) std::uint8_t bytes[kByteStages][kLines][kByteStep];
    double stage[kStages][kLines * kStep];
    double sum[kRows * kColumns];
  };
  LineRecord record[kLines];
  std::uint32_t word[kMostGroup][kRows][kWords];
  Spot spot[kMostGroup][kMostAlone];
  std::uint32_t alone[kMostGroup];  // how many; 0 where the tile is dense
  std::uint32_t dense_tiles;
  unsigned long long taken;
};

struct Tile : TilePlace<kRows, kColumns> {
  using TilePlace::TilePlace;

  __device__ __forceinline__ std::int32_t rows(const Parameters& p) const { return min(kRows, p.job.result.rows - first_row); }
  __device__ __forceinline__ std::int32_t columns(const Parameters& p) const {
    return min(kColumns, p.job.result.columns - first_column);
  }
  __device__ __forceinline__ std::uint32_t* words(const Parameters& p, int row) const {
    const Listed& listed = p.job.listed;
    return listed.word + matrix * listed.matrix_stride + (std::int64_t(first_row) + row) * listed.pitch + first_column / 32;
  }
  // Word `half` of a row of the list, without columns beyond the last one.
  __device__ __forceinline__ std::uint32_t word(const Parameters& p, int row, int half) const {
    const std::int32_t count = columns(p) - 32 * half;
    if (row >= rows(p) || count <= 0) return 0;
    return __ldcg(words(p, row) + half) & first_bits(count);
  }
};

// All threads: the next number that a counter gives.
__device__ __forceinline__ std::int64_t take(Shared& shared, unsigned long long& counter) {
  __syncthreads();
  if (threadIdx.x == 0) shared.taken = atomicAdd(&counter, 1ull);
  __syncthreads();
  return static_cast<std::int64_t>(shared.taken);
}

// All threads: adds what the block has made, and waits until all is made, which may then be read from L2. What is not made has
// been taken by blocks that run.
__device__ __forceinline__ void wait_until_made(unsigned long long& made, std::int64_t own, std::int64_t all) {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    if (own != 0) atomicAdd(&made, static_cast<unsigned long long>(own));
    while (*const_cast<volatile unsigned long long*>(&made) < static_cast<unsigned long long>(all)) __nanosleep(100);
    __threadfence();
  }
  __syncthreads();
}

}  // namespace ozfp4::cuda::settling
