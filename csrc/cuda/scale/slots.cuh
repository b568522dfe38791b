// How the threads of a block share lines, and how what they found comes together.
#pragma once

#include <cstdint>

#include "cuda/scale/line.cuh"

namespace ozfp4::cuda {

// Which of its block's lines a thread works on, and as which of the slots that share it.
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

// Combines the states of all slots of each line; the result is in the threads of slot 0. All threads of the block call it; one
// barrier, and only where a line's slots lie in several warps.
template <class State>
__device__ __forceinline__ State combine_slots(State state, const LineSlots& slots, const ScaleRole& role) {
  __shared__ std::uint64_t shared[kStateWords<State> * kScaleThreads];
  const std::uint32_t log_lines = kLogScaleThreads - slots.log_count, lines = 1u << log_lines;
  std::uint32_t log_apart = 0;  // slots that are multiples of 2^log_apart still hold something
  if (slots.are_adjacent) {
    if constexpr (kHasWarpCombine<State>) {
      if (slots.log_count >= 5) {
        state = combine_warp(state);
        log_apart = 5;
      }
    }
    for (; log_apart < 5 && log_apart < slots.log_count; ++log_apart) {
      state = combine(state, unpack(shuffle_down(pack(state), 1u << log_apart)));
    }
  } else {
    for (; log_lines + log_apart < 5; ++log_apart) {  // a warp holds several slots of its lines
      state = combine(state, unpack(shuffle_down(pack(state), lines << log_apart)));
    }
  }
  const std::uint32_t parts = 1u << (slots.log_count - min(static_cast<std::uint32_t>(slots.log_count), log_apart));
  if (parts == 1) return state;
  const std::uint32_t part = role.slot >> log_apart;
  if ((role.slot & ((1u << log_apart) - 1)) == 0 && part != 0) store_words(shared, part * lines + role.line, pack(state));
  __syncthreads();
  if (role.slot == 0) {
    for (std::uint32_t other = 1; other < parts; ++other) {
      state = combine(state, unpack(load_words<State>(shared, other * lines + role.line)));
    }
  }
  return state;
}

}  // namespace ozfp4::cuda
