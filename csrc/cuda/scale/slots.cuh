// How the threads of a block share lines, and how what they found comes together.
#pragma once

#include <cstdint>

#include "cuda/scale/line.cuh"

namespace ozfp4::cuda {

// Which of its block's lines a thread serves, and as which of the slots that share it.
struct ScaleRole {
  std::uint32_t line, slot;
};

__device__ __forceinline__ ScaleRole role_of(const LineSlots& slots) {
  const std::uint32_t lines = kScaleThreads >> slots.log_count;
  return slots.are_adjacent ? ScaleRole{threadIdx.x >> slots.log_count, threadIdx.x & ((1u << slots.log_count) - 1)}
                            : ScaleRole{threadIdx.x & (lines - 1), threadIdx.x / lines};
}

// Combines the states of all slots of each line; the result is in the threads of slot 0.
__device__ __forceinline__ LineState combine_slots(LineState state, const LineSlots& slots, const ScaleRole& role) {
  __shared__ std::uint64_t shared[kScaleThreads];
  const std::uint32_t lines = kScaleThreads >> slots.log_count;
  std::uint32_t apart = 1;  // slots [0, 1 << log_count) that are multiples of this still hold something
  if (slots.are_adjacent) {
    for (; apart < 32 && apart < (1u << slots.log_count); apart *= 2) {
      state = combine(state, unpack(__shfl_down_sync(0xFFFFFFFFu, pack(state), apart)));
    }
  }
  std::uint32_t parts = (1u << slots.log_count) / apart;
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

}  // namespace ozfp4::cuda
