// The scale kernel. A block sums its chunk of a strip; the last block of a strip combines the chunks and writes the
// strip's shifts and flags; the last block of all writes how many moduli the norms ask for.
#pragma once

#include <cstdint>

#include "arith/scale_entry.hpp"
#include "scale/dependent_launch.cuh"
#include "scale/line_source.cuh"
#include "scale/scale_line.cuh"

namespace ozfp4::cuda {

// Which line of its strip a thread serves, and as which of the slots that share it.
struct ScaleRole {
  std::uint32_t line, slot;
};

__device__ __forceinline__ ScaleRole role_of(const ScaleOperand& operand) {
  const std::uint32_t lines = kScaleThreads >> operand.log_slots;
  return operand.slots_adjacent ? ScaleRole{threadIdx.x >> operand.log_slots, threadIdx.x & ((1u << operand.log_slots) - 1)}
                                : ScaleRole{threadIdx.x & (lines - 1), threadIdx.x / lines};
}

// Combines the states of all slots of each line; the result is in the threads of slot 0.
__device__ __forceinline__ LineState combine_slots(LineState state, const ScaleOperand& operand, const ScaleRole& role) {
  __shared__ std::uint64_t shared[kScaleThreads];
  const std::uint32_t lines = kScaleThreads >> operand.log_slots;
  std::uint32_t apart = 1;  // slots [0, 1 << log_slots) that are multiples of this still hold something
  if (operand.slots_adjacent) {
    for (; apart < 32 && apart < (1u << operand.log_slots); apart *= 2) {
      state = combine(state, unpack(__shfl_down_sync(0xFFFFFFFFu, pack(state), apart)));
    }
  }
  std::uint32_t parts = (1u << operand.log_slots) / apart;
  const std::uint32_t part = role.slot / apart;
  const bool holds = role.slot % apart == 0;
  while (parts > 1) {
    parts /= 2;
    if (holds && part >= parts && part < 2 * parts) shared[part * lines + role.line] = pack(state);
    __syncthreads();
    if (holds && part < parts) state = combine(state, unpack(shared[(part + parts) * lines + role.line]));
  }
  return state;
}

// True in every thread of the block that arrives last of `count` at the counter; then all that the others wrote is seen.
// The barriers carry the block's writes to the one thread whose fences order them. The last one clears the counter.
__device__ __forceinline__ bool arrives_last(std::uint32_t* counter, std::uint32_t count) {
  __shared__ bool last;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicAdd(counter, 1u) == count - 1;
    __threadfence();
    if (last) *counter = 0;
  }
  __syncthreads();
  return last;
}

// The smallest count of the rule whose limit the product of the norms stays below. Called by one whole warp.
__device__ __forceinline__ int choose_prefix(const PrefixRule& rule, double product) {
  const int count = static_cast<int>(threadIdx.x) + 1;
  const bool serves = count >= rule.least && count < rule.all && product < rule.limit[count - 1];
  const std::uint32_t serving = __ballot_sync(0xFFFFFFFFu, serves);
  return serving == 0 ? rule.all : __ffs(static_cast<int>(serving));
}

// The state of this thread's line of a strip over one chunk, in the threads of slot 0.
__device__ __forceinline__ LineState sum_strip(const ScaleOperand& operand, const ScaleRole& role, std::uint32_t stacked_line,
                                               std::uint32_t chunk) {
  LineState state;
  if (stacked_line < operand.total_lines) {
    const LinePlace place = place_of(stacked_line, operand.outer);
    const char* line = operand.data + matrix_offset(operand.stack, place.matrix) + place.line * operand.outer_stride;
    const std::uint32_t begin = chunk * operand.chunk_k;
    state = sum_entries(operand, line, begin, min(begin + operand.chunk_k, operand.inner), role.slot);
  }
  return combine_slots(state, operand, role);
}

// Blocks a multiprocessor: four, but three where the compiler would spill at 64 registers.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 1000
inline constexpr int kScaleBlocks = 4;
#else
inline constexpr int kScaleBlocks = 3;
#endif

__global__ void __launch_bounds__(kScaleThreads, kScaleBlocks) scale_kernel(const __grid_constant__ ScaleArguments arguments) {
  let_next_kernel_start();
  const bool is_b = blockIdx.x >= arguments.blocks_a;
  const ScaleOperand& operand = arguments.operand[is_b];
  const std::uint32_t block = is_b ? blockIdx.x - arguments.blocks_a : blockIdx.x;
  const std::uint32_t blocks_per_chunk = (operand.strips + operand.strips_per_block - 1) / operand.strips_per_block;
  const std::uint32_t chunk = block / blocks_per_chunk;
  const std::uint32_t first_strip = (block - chunk * blocks_per_chunk) * operand.strips_per_block;
  const std::uint32_t end_strip = min(first_strip + operand.strips_per_block, operand.strips);
  const std::uint32_t lines = kScaleThreads >> operand.log_slots;
  const ScaleRole role = role_of(operand);

  float line_sum = 0.0f;  // the largest of this thread's lines
  for (std::uint32_t strip = first_strip; strip < end_strip; ++strip) {
    if (strip != first_strip) __syncthreads();  // before combine_slots uses its shared memory again
    const std::uint32_t stacked_line = strip * lines + role.line;
    LineState state = sum_strip(operand, role, stacked_line, chunk);
    if (operand.chunks > 1) {
      const std::uint64_t pitch = std::uint64_t(operand.strips) * lines;
      if (role.slot == 0) operand.partials[chunk * pitch + stacked_line] = pack(state);
      if (!arrives_last(operand.tickets + strip, operand.chunks)) return;
      state = LineState();
      for (std::uint32_t other = role.slot; other < operand.chunks; other += 1u << operand.log_slots) {
        state = combine(state, unpack(__ldcg(operand.partials + other * pitch + stacked_line)));
      }
      state = combine_slots(state, operand, role);
    }
    if (role.slot == 0 && stacked_line < operand.total_lines) {
      const int exponent = state.sum.exponent;
      operand.shift[stacked_line] = exponent == kNoExponent ? 0 : scale_exponent(arguments.capacity, exponent);
      operand.special[stacked_line] = static_cast<std::uint8_t>(state.special);
      line_sum = fmaxf(line_sum, state.sum.sum);
    }
  }
  if (arguments.rule.all == 0) return;

  // The norm bound grows with the sum, so the largest sum of an operand is all that the last block needs.
  ScaleTotals& totals = *arguments.totals;
  __shared__ std::uint32_t block_largest;
  if (threadIdx.x == 0) block_largest = 0;
  __syncthreads();
  const std::uint32_t largest = __reduce_max_sync(0xFFFFFFFFu, float_bits(line_sum));
  if (threadIdx.x % 32 == 0 && largest != 0) atomicMax(&block_largest, largest);
  __syncthreads();
  if (threadIdx.x >= 32) return;
  std::uint32_t arrived = 0;
  if (threadIdx.x == 0) {
    atomicMax(&totals.largest_sum[is_b], block_largest);
    __threadfence();
    arrived = atomicAdd(&totals.blocks_done, 1u);
    __threadfence();
  }
  arrived = __shfl_sync(0xFFFFFFFFu, arrived, 0);
  if (arrived != arguments.ending_blocks - 1) return;
  double norm[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const float sum = float_from_bits<float>(__ldcg(&totals.largest_sum[i]));
    norm[i] = norm_squared_bound(sum, arguments.operand[i].inner, arguments.capacity);
  }
  const int count = choose_prefix(arguments.rule, __dmul_ru(norm[0], norm[1]));
  if (threadIdx.x == 0) {
    *arguments.units_used = count;
    totals = ScaleTotals();
  }
}

}  // namespace ozfp4::cuda
