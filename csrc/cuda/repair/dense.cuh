// A tile with many listed entries: all of its dot products, from shared memory. Thread 16 y + x has the 16 entries of the rows
// y + 16 i and the columns x + 16 j.
#pragma once

#include <cstdint>

#include "cuda/repair/rounding.cuh"
#include "cuda/repair/shared.cuh"

namespace ozfp4::cuda::repairing {

inline constexpr int kSide = 4;  // rows and columns of a thread
static_assert(kSide * 16 == kTile && 16 * 16 == kThreads);

// The entries of an operand that a thread brings: [k][line].
struct Bringing : ThreadEntries<kTile, kStep, kThreads> {
  bool is_safe = true, is_nonnegative = true;

  using ThreadEntries::ThreadEntries;

  __device__ __forceinline__ void store(double (&stage)[kStep][kPitch], const double (&factor)[2][kTile]) {
#pragma unroll
    for (int i = 0; i < kEntries; ++i) {
      const std::int32_t own = line_of(i);
      is_nonnegative = is_nonnegative && !(x[i] < 0.0);
      stage[k_of(i)][own] = take_entry(x[i], factor[0][own], factor[1][own], is_safe);
    }
  }
};

// The factors of the lines of a tile; 1 beyond the last one.
__device__ __forceinline__ void share_factors(double (&factor)[2][kTile], const RepairLines& lines, std::int32_t first,
                                              std::int32_t count, std::int32_t own) {
  const ShiftHalves halves = halves_of(own < count ? repair_shift(lines.record[std::int64_t(first) + own]) : 0);
  factor[0][own] = exact_power_of_two<double>(halves.first);
  factor[1][own] = exact_power_of_two<double>(halves.second);
}

// Facts of all entries of a tile: no product underflows, and none is negative.
struct TileFacts {
  bool is_safe, is_nonnegative;
};

// All threads: the dot products of this thread's entries.
__device__ __forceinline__ TileFacts dot_tile(Shared& shared, const RepairJob& job, const RepairMatrix& matrix, const Tile& tile,
                                              DoubleDot (&dot)[kSide][kSide]) {
  const int x = static_cast<int>(threadIdx.x % 16), y = static_cast<int>(threadIdx.x / 16);
  const std::int32_t inner = job.a.view.inner;
  const std::int32_t rows = job.result.rows - tile.first_row, columns = job.result.columns - tile.first_column;
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  if (thread < kTile) share_factors(shared.factor[0], matrix.a, tile.first_row, rows, thread);
  if (thread >= kThreads - kTile) share_factors(shared.factor[1], matrix.b, tile.first_column, columns, thread % kTile);
  Bringing a(matrix.a.from(tile.first_row), rows), b(matrix.b.from(tile.first_column), columns);
  a.load(0, inner);
  b.load(0, inner);
#pragma unroll 1
  for (std::int64_t first = 0; first < inner; first += kStep) {
    __syncthreads();
    a.store(shared.stage.a, shared.factor[0]);
    b.store(shared.stage.b, shared.factor[1]);
    __syncthreads();
    a.load(first + kStep, inner);
    b.load(first + kStep, inner);
#pragma unroll 2
    for (int k = 0; k < kStep; ++k) {
      double row[kSide], column[kSide];
#pragma unroll
      for (int i = 0; i < kSide; ++i) {
        row[i] = shared.stage.a[k][y + 16 * i];
        column[i] = shared.stage.b[k][x + 16 * i];
      }
#pragma unroll
      for (int i = 0; i < kSide; ++i) {
#pragma unroll
        for (int j = 0; j < kSide; ++j) add_product(dot[i][j], row[i], column[j]);
      }
    }
  }
  return {__syncthreads_and(a.is_safe && b.is_safe) != 0, __syncthreads_and(a.is_nonnegative && b.is_nonnegative) != 0};
}

// All threads: tile number `slot` of a group.
template <class R>
__device__ __forceinline__ void repair_dense(Shared& shared, const Parameters& p, const Tile& tile, int slot) {
  const RepairJob& job = p.job;
  const RepairMatrix matrix(job, tile.matrix);
  DoubleDot dot[kSide][kSide];
  const TileFacts facts = dot_tile(shared, job, matrix, tile, dot);
  const int x = static_cast<int>(threadIdx.x % 16), y = static_cast<int>(threadIdx.x / 16);
#pragma unroll 1
  for (int i = 0; i < kSide; ++i) {  // by way of shared memory, so that all entries go through the same code
#pragma unroll
    for (int own = 0; own < kSide; ++own) {
      if (own != i) continue;
#pragma unroll
      for (int j = 0; j < kSide; ++j) {
        shared.sums[j][0][threadIdx.x] = dot[own][j].high;
        shared.sums[j][1][threadIdx.x] = dot[own][j].low;
        shared.sums[j][2][threadIdx.x] = dot[own][j].slack;
      }
    }
    const int row = y + 16 * i;
#pragma unroll 1
    for (int j = 0; j < kSide; ++j) {
      const int column = x + 16 * j;
      if ((shared.word[slot][row][column / 32] >> (column % 32) & 1u) == 0) continue;
      DoubleDot own{shared.sums[j][0][threadIdx.x], shared.sums[j][1][threadIdx.x], shared.sums[j][2][threadIdx.x]};
      const Entry entry{tile.matrix, tile.first_row + row, tile.first_column + column};
      const int shift = repair_shift(matrix.a.record[entry.row]) + repair_shift(matrix.b.record[entry.column]);
      double bound = dot_bound(own, job.a.view.inner, facts.is_safe);
      if (facts.is_nonnegative && !job.update.is_asked && reaches_below_zero(own, bound)) clamp_at_zero(own, bound);
      settle_entry<R>(shared, job, matrix, entry, own, bound, -shift, make_spot(slot, row, column));
    }
  }
}

}  // namespace ozfp4::cuda::repairing
