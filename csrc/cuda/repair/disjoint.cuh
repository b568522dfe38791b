// Listed entries of a tile with a disjoint row and column, that is, nonzero at no common index: they are exact zeros. A tile of K
// = 4096 takes the ANDs of 64 x 64 lines, 2^19 words, where a dense one takes 2^24 dd products.
//
// The floor of a product of N = 4096 on an H200, all of it disjoint, has three parts. Both operands once, 256 MiB, take 60 us.
// The masks of 2^12 tiles from L2, 256 MiB, take 50 us. Meanwhile 2^31 ANDs, 64 a clock and multiprocessor, take 150 us, without
// those known to be zero in all rows of a warp. 128 MiB of zeros stored take 30 us. So about 0.2 ms, and 0.3 ms where the zeros
// lie anywhere.
#pragma once

#include <cstdint>

#include "cuda/multiply/ptx/warp.cuh"
#include "cuda/repair/masks.cuh"
#include "cuda/repair/rounding.cuh"
#include "cuda/repair/shared.cuh"

namespace ozfp4::cuda::repairing {

// All threads: begins to bring a chunk, from entry `first` on, of `count` lines or a tile's, out of the masks of all lines.
__device__ __forceinline__ void fetch_chunk(MaskChunk& mask, const char* lines, std::int32_t count, std::int64_t first,
                                            std::int64_t inner) {
  std::uint32_t thread;  // asked anew: kept over all tiles, what follows of it takes registers that dense tiles need
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  const int unit = static_cast<int>(thread % kChunkUnits);
  const std::int64_t units = mask_units(inner), own_unit = first / kMaskUnit + unit;
#pragma unroll 1
  for (int line = static_cast<int>(thread / kChunkUnits); line < kTile; line += kThreads / kChunkUnits) {
    const bool is_inside = line < count && own_unit < units;
    copy_async<16>(&mask[unit][line], lines + (line * units + own_unit) * kMaskUnitBytes, is_inside ? 16 : 0);
  }
}

// All warps: a chunk, from entry `first` on, of the first of `count` lines, a tile's, from the operand itself.
__device__ __forceinline__ void look_at_chunk(MaskChunk& mask, const RepairLines& lines, std::int32_t count, std::int64_t first,
                                              std::int64_t inner) {
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const bool is_along_k = runs_along_k(lines.outer_stride, lines.inner_stride);
#pragma unroll 1
  for (int i = warp; i < kTile; i += kWarps) {
    const int line = is_along_k ? i : i % 2 * 32, word = is_along_k ? 0 : i / 2;
    const std::uint32_t bits = look_at_word(lines, line, count, first + 32 * word, inner, is_along_k);
    const int own_line = is_along_k ? line : line + lane, own_word = is_along_k ? lane : word;
    reinterpret_cast<std::uint32_t*>(&mask[own_word / 4][own_line])[own_word % 4] = bits;
  }
}

// All lanes of a warp: the thread's entries, as in own_listed, with lines that meet in a chunk.
__device__ __forceinline__ std::uint32_t find_meeting(const MaskChunk (&mask)[2]) {
  const int x = static_cast<int>(threadIdx.x % 16), y = static_cast<int>(threadIdx.x / 16);
  std::uint32_t met[4][4] = {};
#pragma unroll 2
  for (int unit = 0; unit < kChunkUnits; ++unit) {
    uint4 row[4];
    std::uint32_t any = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      row[i] = mask[0][unit][y + 16 * i];
      any |= row[i].x | row[i].y | row[i].z | row[i].w;
    }
    if (__any_sync(0xffffffffu, any != 0) == 0) continue;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const uint4 column = mask[1][unit][x + 16 * j];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        met[i][j] |= row[i].x & column.x;
        met[i][j] |= row[i].y & column.y;
        met[i][j] |= row[i].z & column.z;
        met[i][j] |= row[i].w & column.w;
      }
    }
  }
  std::uint32_t found = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) found |= met[i][j] != 0 ? 1u << (4 * i + j) : 0u;
  }
  return found;
}

// A thread's bits: bit 4 i + j is for the row y + 16 i and the column x + 16 j, x and y as in dense.cuh.
__device__ __forceinline__ std::uint32_t own_listed(const Shared& shared, int slot) {
  const int x = static_cast<int>(threadIdx.x % 16), y = static_cast<int>(threadIdx.x / 16);
  std::uint32_t own = 0;
#pragma unroll 1
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) own |= (shared.word[slot][y + 16 * i][j / 2] >> (x + 16 * (j % 2)) & 1u) << (4 * i + j);
  }
  return own;
}

// The rows (side 0) or columns of a tile: an operand's lines, the first one's mask, how many they are.
struct TileLines {
  RepairLines lines;
  const char* mask;
  std::int32_t count;

  __device__ __forceinline__ TileLines(const RepairJob& job, const RepairMatrix& matrix, const Tile& tile, int side)
      : lines(side == 0 ? matrix.a.from(tile.first_row) : matrix.b.from(tile.first_column)),
        mask(side == 0 ? matrix.a_mask : matrix.b_mask),
        count(side == 0 ? job.result.rows - tile.first_row : job.result.columns - tile.first_column) {
    const std::int64_t first = side == 0 ? tile.first_row : tile.first_column;
    mask += first * mask_units(job.a.view.inner) * kMaskUnitBytes;
  }
};

// All threads: those of the thread's `listed` entries with lines that do not meet. Ends where no thread has any left.
__device__ __forceinline__ std::uint32_t find_disjoint(Shared& shared, const RepairJob& job, const RepairMatrix& matrix,
                                                       const Tile& tile, std::uint32_t listed) {
  const std::int64_t inner = job.a.view.inner;
#pragma unroll 1
  for (std::int64_t first = 0;; first += kMaskChunk) {
    const int turn = static_cast<int>(first / kMaskChunk % 2);
#pragma unroll 1
    for (int side = 0; side < 2 && first < inner; ++side) {
      const TileLines own(job, matrix, tile, side);
      if (shared.has_masks) {
        fetch_chunk(shared.mask[turn][side], own.mask, own.count, first, inner);
      } else {
        look_at_chunk(shared.mask[turn][side], own.lines, own.count, first, inner);
      }
    }
    if (first != 0) listed &= ~find_meeting(shared.mask[turn ^ 1]);  // the chunk before, while this one is on its way
    if (first >= inner) return listed;
    wait_all_copies();
    if (__syncthreads_and(listed == 0) != 0) return 0;
  }
}

// All lanes of a warp, each with its bits as in own_listed: takes them off the words, which are the warp's own.
__device__ __forceinline__ void unlist(Shared& shared, int slot, std::uint32_t own) {
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int lower_row = lane / 2 * 16, half = lane % 2;
#pragma unroll 1
  for (int i = 0; i < 4; ++i) {
    std::uint32_t bits[4];  // of 16 columns of two rows
#pragma unroll
    for (int j = 0; j < 4; ++j) bits[j] = __ballot_sync(0xffffffffu, (own >> (4 * i + j) & 1u) != 0);
    if (lane >= 4) continue;
    const std::uint32_t low = (half == 0 ? bits[0] : bits[2]) >> lower_row & 0xffffu;
    const std::uint32_t high = (half == 0 ? bits[1] : bits[3]) >> lower_row & 0xffffu;
    shared.word[slot][2 * warp + lane / 2 + 16 * i][half] &= ~(low | high << 16);
  }
}

// All threads: stores the entries with disjoint lines of dense tile number `slot` and takes them off its words; the remainder is
// dense, sparse or nothing.
template <class R>
__device__ __forceinline__ void repair_disjoint(Shared& shared, const Parameters& p, const Tile& tile, int slot) {
  const RepairJob& job = p.job;
  const RepairMatrix matrix(job, tile.matrix);
  const int x = static_cast<int>(threadIdx.x % 16), y = static_cast<int>(threadIdx.x / 16);
  const std::uint32_t own = find_disjoint(shared, job, matrix, tile, own_listed(shared, slot));
#pragma unroll 1
  for (std::uint32_t rest = own; rest != 0; rest &= rest - 1) {
    const int at = __ffs(static_cast<int>(rest)) - 1;
    const Entry entry{tile.matrix, std::int64_t(tile.first_row) + y + at / 4 * 16,
                      std::int64_t(tile.first_column) + x + at % 4 * 16};
    store_entry(job, matrix, entry, R::of_zero(job, entry));
  }
  unlist(shared, slot, own);
  const std::uint32_t count = __reduce_add_sync(0xffffffffu, static_cast<std::uint32_t>(__popc(own)));
  if (threadIdx.x % 32 == 0 && count != 0) atomicAdd(&shared.disjoint_count, static_cast<unsigned long long>(count));
  __syncthreads();  // the words, and before the masks are another tile's
  if (threadIdx.x < 32) sort_tile(shared, slot, kMostSparse);
  __syncthreads();
}

}  // namespace ozfp4::cuda::repairing
