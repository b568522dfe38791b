// A bit for each entry of the lines of both operands: whether it is nonzero. Two lines are then disjoint where the AND of their
// bits is zero, at 1/64 of the bytes (1/32 of float32's) and of the loads.
#pragma once

#include <cstdint>

#include "cuda/repair/counts.cuh"
#include "cuda/repair/shared.cuh"

namespace ozfp4::cuda::repairing {

inline constexpr int kLooks = 32;  // entries that a thread loads together, and bits of a word
static_assert(kMaskChunk == 32 * kLooks && kMaskUnit == kPartTurns * kLooks);

// Bit i: entry i of the thread, `step` bytes behind the one before, is not zero. There are `count`, or kLooks.
template <class Bits>
__device__ __forceinline__ std::uint32_t look_at(const char* at, std::int64_t step, std::int32_t count) {
  Bits x[kLooks];
#pragma unroll
  for (int i = 0; i < kLooks; ++i, at += step) x[i] = i < count ? *reinterpret_cast<const Bits*>(at) : 0;
  std::uint32_t found = 0;
#pragma unroll
  for (int i = 0; i < kLooks; ++i) found |= static_cast<Bits>(x[i] << 1) != 0 ? 1u << i : 0u;  // -0 is zero
  return found;
}

// One warp: the lane's word of 32. Where K has the shorter stride, it is that of entries first + 32 * lane .. + 31 of `line`, the
// same one in all lanes; else that of entries first .. + 31 of line + lane. Lanes load neighbouring entries together. Beyond the
// `lines` that there are, and beyond K, bits are 0.
__device__ __forceinline__ std::uint32_t look_at_word(const RepairLines& source, std::int64_t line, std::int64_t lines,
                                                      std::int64_t first, std::int64_t inner, bool is_along_k) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const std::int64_t own_line = is_along_k ? line : line + lane, k = is_along_k ? first + lane : first;
  const int apart = is_along_k ? 32 : 1;
  const std::int64_t most = std::int64_t(kLooks) * apart, rest = own_line < lines ? inner - k : 0;
  const auto count = static_cast<std::int32_t>((rest < 0 ? 0 : rest < most ? rest : most) + apart - 1) / apart;
  const char* at = source.data + own_line * source.outer_stride + k * source.inner_stride;
  const std::int64_t step = apart * source.inner_stride;
  const std::uint32_t own = source.is_double ? look_at<std::uint64_t>(at, step, count) : look_at<std::uint32_t>(at, step, count);
  if (!is_along_k) return own;
  std::uint32_t word = 0;
#pragma unroll
  for (int i = 0; i < kLooks; ++i) {
    const std::uint32_t bits = __ballot_sync(0xffffffffu, (own >> i & 1u) != 0);
    word = lane == i ? bits : word;
  }
  return word;
}

// One warp: a part of the masks of an operand, all matrices of which have theirs one behind the other.
__device__ __forceinline__ void make_masks(const MaskWork& work, const ScaledOperand& operand, std::int64_t first_line,
                                           char* room, std::int64_t index) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const std::int64_t inner = operand.view.inner, units = mask_units(inner), of_matrix = std::int64_t(work.groups) * work.pieces;
  const auto matrix = static_cast<std::int32_t>(index / of_matrix);
  const std::int64_t rest = index % of_matrix;
  const RepairLines lines = lines_of(operand, matrix, first_line);
  char* mask = room + matrix * work.lines * units * kMaskUnitBytes;
  const std::int64_t piece = work.is_along_k ? rest % work.pieces : rest / work.groups;
  const std::int64_t group = work.is_along_k ? rest / work.pieces : rest % work.groups;
#pragma unroll 1
  for (int turn = 0; turn < kPartTurns; ++turn) {
    const std::int64_t line = work.is_along_k ? group * kPartTurns + turn : group * 32;
    const std::int64_t word = work.is_along_k ? piece * 32 : piece * kPartTurns + turn;
    const std::uint32_t bits = look_at_word(lines, line, work.lines, word * 32, inner, work.is_along_k);
    const std::int64_t own_line = work.is_along_k ? line : line + lane, own_word = work.is_along_k ? word + lane : word;
    if (own_line >= work.lines || own_word >= units * 4) continue;
    *reinterpret_cast<std::uint32_t*>(mask + own_line * units * kMaskUnitBytes + own_word * 4) = bits;
  }
}

// All threads of all blocks: the masks of all lines, which all of a block's threads may then read, from L2.
// Warps take parts as they come, and then wait until all parts are made. No warp waits for a block that has not started, whatever
// else keeps the multiprocessors busy. A part that is taken is a running warp's, which makes it without waiting for any other.
// Parts that are not taken yet are taken by the next warp; a block that starts late finds none left.
__device__ __forceinline__ void make_all_masks(const Parameters& p) {
  RepairCounts& counts = *p.job.listed.counts;
  const bool is_first_lane = threadIdx.x % 32 == 0;
  unsigned long long made = 0;
#pragma unroll 1
  for (;;) {
    unsigned long long taken = is_first_lane ? atomicAdd(&counts.masks_taken, 1ull) : 0;
    const auto part = static_cast<std::int64_t>(__shfl_sync(0xffffffffu, taken, 0));
    if (part >= p.a_masks.parts + p.b_masks.parts) break;
    const bool is_a = part < p.a_masks.parts;
    make_masks(is_a ? p.a_masks : p.b_masks, is_a ? p.job.a : p.job.b, is_a ? 0 : p.job.first_column,
               is_a ? p.job.masks.a : p.job.masks.b, is_a ? part : part - p.a_masks.parts);
    __syncwarp();
    ++made;
  }
  __syncwarp();
  __threadfence();  // of what the whole warp has written
  if (is_first_lane && made != 0) atomicAdd(&counts.masks_made, made);
  if (threadIdx.x == 0) wait_for(counts.masks_made, p.a_masks.parts + p.b_masks.parts);
  __syncthreads();
}

}  // namespace ozfp4::cuda::repairing
