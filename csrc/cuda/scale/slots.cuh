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

template <class State>
__device__ __forceinline__ PackedState<State> shuffle_down(PackedState<State> packed, std::uint32_t apart) {
#pragma unroll
  for (std::uint64_t& word : packed.word) word = __shfl_down_sync(0xFFFFFFFFu, word, apart);
  return packed;
}

// Number `at` of an array of packed states.
template <class State>
__device__ __forceinline__ void store_words(std::uint64_t* array, std::uint64_t at, const PackedState<State>& packed) {
#pragma unroll
  for (int i = 0; i < packed.words; ++i) array[at * packed.words + i] = packed.word[i];
}
template <class State>
__device__ __forceinline__ PackedState<State> load_words(const std::uint64_t* array, std::uint64_t at) {
  PackedState<State> packed;
#pragma unroll
  for (int i = 0; i < packed.words; ++i) packed.word[i] = array[at * packed.words + i];
  return packed;
}

// Combines the states of all slots of each line; the result is in the threads of slot 0.
template <class State>
__device__ __forceinline__ State combine_slots(State state, const LineSlots& slots, const ScaleRole& role) {
  __shared__ std::uint64_t shared[kStateWords<State> * kScaleThreads];
  const std::uint32_t lines = kScaleThreads >> slots.log_count;
  std::uint32_t apart = 1;  // slots [0, 1 << log_count) that are multiples of this still hold something
  if (slots.are_adjacent) {
    for (; apart < 32 && apart < (1u << slots.log_count); apart *= 2) {
      state = combine(state, unpack(shuffle_down(pack(state), apart)));
    }
  }
  std::uint32_t parts = (1u << slots.log_count) / apart;
  const std::uint32_t part = role.slot / apart;
  const bool holds = role.slot % apart == 0;
  while (parts > 1) {
    parts /= 2;
    if (holds && part >= parts && part < 2 * parts) store_words(shared, part * lines + role.line, pack(state));
    __syncthreads();
    if (holds && part < parts) state = combine(state, unpack(load_words<State>(shared, (part + parts) * lines + role.line)));
  }
  return state;
}

}  // namespace ozfp4::cuda
