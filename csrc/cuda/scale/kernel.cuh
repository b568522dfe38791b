// The scale kernel. A block sums its chunk of a strip. The last block of a strip combines the chunks and writes the strip's
// shifts and flags; the last block of all writes how many moduli the norms need.
#pragma once

#include <cstdint>

#include "cuda/dependent_launch.cuh"
#include "cuda/entries.cuh"
#include "cuda/scale/finish.cuh"
#include "cuda/scale/slots.cuh"

namespace ozfp4::cuda {

// True in every thread of the block that arrives last of `count` at the counter; then all that the others wrote is seen.
// The barriers carry the block's writes to the one thread with the fences that order them. The last one clears the counter.
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

// The state of this thread's line of a strip over one chunk, in the threads of slot 0.
template <class State>
__device__ __forceinline__ State sum_strip(const ScaleOperand& operand, const ScaleRole& role, std::uint32_t stacked_line,
                                           std::uint32_t chunk) {
  State state;
  if (stacked_line < operand.total_lines) {
    const LinePlace place = place_of(stacked_line, operand.outer);
    const char* line = operand.data + line_offset(operand.stack, place, place.line, operand.outer_stride);
    const std::uint32_t begin = chunk * operand.chunk_k;
    state = sum_entries<State>(operand, line, begin, min(begin + operand.chunk_k, operand.inner), role.slot);
  }
  return combine_slots(state, operand.slots, role);
}

// Reads what another block has left.
template <class State>
__device__ __forceinline__ PackedState<State> load_partial(const ScaleOperand& operand, std::uint64_t at) {
  PackedState<State> packed;
#pragma unroll
  for (int i = 0; i < packed.words; ++i) packed.word[i] = __ldcg(operand.partials + at * packed.words + i);
  return packed;
}

// Blocks a multiprocessor: as many as leave the compiler enough registers.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900
template <class State>
inline constexpr int kScaleBlocks = kStateWords<State> == 1 ? 4 : 3;
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 1000
template <class State>
inline constexpr int kScaleBlocks = kStateWords<State> == 1 ? 4 : 2;
#else
template <class State>
inline constexpr int kScaleBlocks = kStateWords<State> == 1 ? 3 : 2;
#endif

// Calls finish(stacked_line, state) for every line of an operand that block number `block` ends, in one thread each. False where
// later blocks end its lines. All threads call it.
template <class State, class Finish>
__device__ __forceinline__ bool for_lines(const ScaleOperand& operand, std::uint32_t block, const Finish& finish) {
  const std::uint32_t blocks_per_chunk = (operand.strips + operand.strips_per_block - 1) / operand.strips_per_block;
  const std::uint32_t chunk = block / blocks_per_chunk;
  const std::uint32_t first_strip = (block - chunk * blocks_per_chunk) * operand.strips_per_block;
  const std::uint32_t end_strip = min(first_strip + operand.strips_per_block, operand.strips);
  const std::uint32_t lines = kScaleThreads >> operand.slots.log_count;
  const ScaleRole role = role_of(operand.slots);
  for (std::uint32_t strip = first_strip; strip < end_strip; ++strip) {
    if (strip != first_strip) __syncthreads();  // before combine_slots uses its shared memory again
    const std::uint32_t stacked_line = strip * lines + role.line;
    State state = sum_strip<State>(operand, role, stacked_line, chunk);
    if (operand.chunks > 1) {
      const std::uint64_t pitch = std::uint64_t(operand.strips) * lines;
      if (role.slot == 0) store_words(operand.partials, chunk * pitch + stacked_line, pack(state));
      if (!arrives_last(operand.tickets + strip, operand.chunks)) return false;
      state = State();
      for (std::uint32_t other = role.slot; other < operand.chunks; other += 1u << operand.slots.log_count) {
        state = combine(state, unpack(load_partial<State>(operand, other * pitch + stacked_line)));
      }
      state = combine_slots(state, operand.slots, role);
    }
    if (role.slot == 0 && stacked_line < operand.total_lines) finish(stacked_line, state);
  }
  return true;
}

template <class State>
__global__ void __launch_bounds__(kScaleThreads, kScaleBlocks<State>)
    scale_kernel(const __grid_constant__ ScaleArguments arguments) {
  let_next_kernel_start();
  const bool is_b = blockIdx.x >= arguments.blocks_a;
  const ScaleOperand& operand = arguments.operand[is_b];
  __shared__ BlockReport<State> report;
  if (threadIdx.x == 0) report.open();
  __syncthreads();
  float line_sum = 0.0f;  // the largest of this thread's lines
  const std::uint32_t block = is_b ? blockIdx.x - arguments.blocks_a : blockIdx.x;
  const bool ends = for_lines<State>(operand, block, [&](std::uint32_t stacked_line, const State& state) {
    const LineOutcome outcome = finish_line(state, arguments.lines, arguments.norms);
    operand.shift[stacked_line] = outcome.shift;
    operand.special[stacked_line] = static_cast<std::uint8_t>(outcome.special);
    record_line(report.extremes, state, outcome, arguments.lines, arguments.norms.inner, is_b, stacked_line);
    line_sum = fmaxf(line_sum, outcome.sum);
  });
  if (ends) report_norms(arguments.norms, arguments.lines, is_b, line_sum, report);
}

}  // namespace ozfp4::cuda
