// Listed entries of a tile whose row and column are disjoint, that is, nonzero at no common index: they are exact zeros. One pass
// over K makes of every line a bit an entry, which costs the loads and little else, where a dense tile costs 4096 K dd products.
#pragma once

#include <cstdint>

#include "arith/accuracy/modes.hpp"
#include "cuda/repair/shared.cuh"

namespace ozfp4::cuda::repairing {

inline constexpr int kLooks = 16;                                                     // entries that a thread looks at together
inline constexpr int kLookers = kThreads / 2, kLookStep = kLookers * kLooks / kTile;  // of one operand: threads, entries of K
static_assert(kLookStep == 32 && kMaskStep % kLookStep == 0);

// What a thread looks at, the first half of them at the rows, the others at the columns: a warp along K, one line after the
// other, where K has the shorter stride; else lines side by side, 16 entries of K of each.
struct Looking {
  const char* at;                  // of the thread's first entry, now
  std::int64_t next, advance;      // bytes from entry to entry, and from one step of K to the next
  std::int32_t line, k, lines;     // of the first entry; lines that there are
  std::int32_t next_line, next_k;  // from entry to entry
  bool is_double;

  __device__ __forceinline__ Looking(const RepairLines& of, std::int32_t first_line, std::int32_t count) : lines(count) {
    const std::int64_t inner = of.inner_stride < 0 ? -of.inner_stride : of.inner_stride;
    const std::int64_t outer = of.outer_stride < 0 ? -of.outer_stride : of.outer_stride;
    const auto thread = static_cast<std::int32_t>(threadIdx.x % kLookers);
    const bool runs_along_k = inner <= outer;
    line = runs_along_k ? thread / 32 : thread % kTile;
    k = runs_along_k ? thread % 32 : thread / kTile * kLooks;
    next_line = runs_along_k ? kLookers / 32 : 0;
    next_k = runs_along_k ? 0 : 1;
    at = of.data + (std::int64_t(first_line) + line) * of.outer_stride + k * of.inner_stride;
    next = runs_along_k ? next_line * of.outer_stride : of.inner_stride;
    advance = kLookStep * of.inner_stride;
    is_double = of.is_double;
  }

  __device__ __forceinline__ void skip_step() { at += kMaskStep / kLookStep * advance; }

  // All lanes of the warp: the next kLookStep entries, of which `rest` are left, become part `turn` of the masks.
  __device__ __forceinline__ void look(Mask (&mask)[kTile], int turn, std::int32_t rest) {
    const std::uint32_t own = is_double ? look_at<std::uint64_t>(rest) : look_at<std::uint32_t>(rest);
    at += advance;
    if (next_k != 0) {
      mask[line].part[turn * 2 + k / kLooks] = static_cast<std::uint16_t>(own);
      return;
    }
    const int lane = static_cast<int>(threadIdx.x % 32);
    std::uint32_t of_line = 0;
#pragma unroll
    for (int i = 0; i < kLooks; ++i) {
      const std::uint32_t bits = __ballot_sync(0xffffffffu, (own >> i & 1u) != 0);
      of_line = lane == i ? bits : of_line;
    }
    if (lane < kLooks) mask[line + lane * next_line].word[turn] = of_line;
  }

 private:
  // Bit i: the thread's entry i is not zero.
  template <class Bits>
  __device__ __forceinline__ std::uint32_t look_at(std::int32_t rest) const {
    Bits x[kLooks];
    const char* entry = at;
#pragma unroll
    for (int i = 0; i < kLooks; ++i, entry += next) {
      const bool is_inside = line + i * next_line < lines && k + i * next_k < rest;
      x[i] = is_inside ? *reinterpret_cast<const Bits*>(entry) : 0;
    }
    std::uint32_t found = 0;
#pragma unroll
    for (int i = 0; i < kLooks; ++i) found |= static_cast<Bits>(x[i] << 1) != 0 ? 1u << i : 0u;  // -0 is zero
    return found;
  }
};

// Of a thread: bit 4 i + j stands for the row y + 16 i and the column x + 16 j, x and y as in dense.cuh.
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

__device__ __forceinline__ bool is_empty(const Shared& shared, std::int32_t step) {
  return step < kKnownSteps && (shared.empty_steps[step / 32] >> (step % 32) & 1u) != 0;
}

// All lanes of the first warp: remembers of a step whether the rows are zero.
__device__ __forceinline__ void note_empty(Shared& shared, const Mask (&rows)[kTile], std::int32_t step) {
  const auto lane = static_cast<int>(threadIdx.x);
  const uint2 one = rows[lane].words(), other = rows[lane + 32].words();
  const bool is_none = __any_sync(0xffffffffu, (one.x | one.y | other.x | other.y) != 0) == 0;
  if (is_none && step < kKnownSteps && lane == 0) shared.empty_steps[step / 32] |= 1u << (step % 32);
}

// All threads: those of the thread's `listed` entries whose lines do not meet. Ends where no thread has any left.
__device__ __forceinline__ std::uint32_t find_disjoint(Shared& shared, const RepairJob& job, const RepairMatrix& matrix,
                                                       const Tile& tile, std::uint32_t listed) {
  const int x = static_cast<int>(threadIdx.x % 16), y = static_cast<int>(threadIdx.x / 16);
  const int side = static_cast<int>(threadIdx.x) / kLookers;
  const std::int32_t inner = job.a.view.inner;
  RepairLines lines = matrix.a;
  if (side != 0) lines = matrix.b;
  Looking looking(lines, side == 0 ? tile.first_row : tile.first_column,
                  side == 0 ? job.result.rows - tile.first_row : job.result.columns - tile.first_column);
  int turn = 0;
#pragma unroll 1
  for (std::int32_t rest = inner, step = 0; rest > 0; rest -= kMaskStep, ++step) {
    if (is_empty(shared, step)) {
      looking.skip_step();
      continue;
    }
#pragma unroll 1
    for (int part = 0; part < kMaskStep / kLookStep; ++part) looking.look(shared.mask[turn][side], part, rest - part * kLookStep);
    // Masks of two turns: who writes one again has been at the barrier of the other, and so has everyone who was to read it.
    if (__syncthreads_and(listed == 0) != 0) break;
    uint2 row[4], column[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      row[i] = shared.mask[turn][0][y + 16 * i].words();
      column[i] = shared.mask[turn][1][x + 16 * i].words();
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const std::uint32_t both = (row[i].x & column[j].x) | (row[i].y & column[j].y);
        listed &= both != 0 ? ~(1u << (4 * i + j)) : ~0u;
      }
    }
    if (threadIdx.x < 32) note_empty(shared, shared.mask[turn][0], step);
    turn ^= 1;
  }
  return listed;
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

// All threads: stores the entries of dense tile number `slot` whose lines are disjoint and takes them off its words; what is left
// is dense, sparse or nothing. has_new_rows: the tile before, of this group, had other rows.
template <class T>
__device__ __forceinline__ void settle_disjoint(Shared& shared, const Parameters& p, const Tile& tile, int slot,
                                                bool has_new_rows) {
  if (has_new_rows) {
    for (int i = static_cast<int>(threadIdx.x); i < kKnownSteps / 32; i += kThreads) shared.empty_steps[i] = 0;
    __syncthreads();
  }
  const RepairJob& job = p.job;
  const RepairMatrix matrix(job, tile.matrix);
  const int x = static_cast<int>(threadIdx.x % 16), y = static_cast<int>(threadIdx.x / 16);
  const std::uint32_t own = find_disjoint(shared, job, matrix, tile, own_listed(shared, slot));
#pragma unroll 1
  for (std::uint32_t rest = own; rest != 0; rest &= rest - 1) {
    const int at = __ffs(static_cast<int>(rest)) - 1;
    const std::int64_t row = std::int64_t(tile.first_row) + y + at / 4 * 16;
    const std::int64_t column = std::int64_t(tile.first_column) + x + at % 4 * 16;
    store_entry(job, matrix, row, column, static_cast<T>(exact_zero(job.rounding)));
  }
  unlist(shared, slot, own);
  const std::uint32_t count = __reduce_add_sync(0xffffffffu, static_cast<std::uint32_t>(__popc(own)));
  if (threadIdx.x % 32 == 0 && count != 0) atomicAdd(&shared.disjoint_count, static_cast<unsigned long long>(count));
  __syncthreads();  // the words, and before the masks are another tile's
  if (threadIdx.x < 32) sort_tile(shared, slot);
  __syncthreads();
}

}  // namespace ozfp4::cuda::repairing
