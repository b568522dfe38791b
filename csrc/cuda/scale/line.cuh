// One thread's share of a line: loads and sums.
#pragma once

#include <cstdint>

#include "arith/accuracy/line_facts.hpp"
#include "arith/scale_entry.hpp"
#include "cuda/scale/arguments.cuh"
#include "cuda/scale/batch_facts.hpp"
#include "cuda/scale/line_sum.hpp"

namespace ozfp4::cuda {

struct LineState {
  LineSum sum;
  std::uint32_t special = kFinite;
};

// Where the lines' records are asked for.
template <class Sum>
struct RecordedStateOf {
  LineState line;
  FactsOf<Sum> facts;
};

__device__ __forceinline__ LineState combine(const LineState& x, const LineState& y) {
  return {ozfp4::combine(x.sum, y.sum), x.special | y.special};
}
template <class Sum>
__device__ __forceinline__ RecordedStateOf<Sum> combine(const RecordedStateOf<Sum>& x, const RecordedStateOf<Sum>& y) {
  return {combine(x.line, y.line), ozfp4::combine(x.facts, y.facts)};
}

// A state as words on its way to another thread.
template <class State>
struct PackedState {
  static constexpr int words = kStateWords<State>;
  std::uint64_t word[words];
};

// Exponent and flags, sum.
__device__ __forceinline__ PackedState<LineState> pack(const LineState& state) {
  const std::uint32_t high = static_cast<std::uint32_t>(state.sum.exponent) << 2 | state.special;
  return {{std::uint64_t(high) << 32 | float_bits(state.sum.sum)}};
}
__device__ __forceinline__ LineState unpack(const PackedState<LineState>& packed) {
  const auto high = static_cast<std::int32_t>(packed.word[0] >> 32);
  return {{high >> 2, float_from_bits<float>(static_cast<std::uint32_t>(packed.word[0]))}, static_cast<std::uint32_t>(high) & 3u};
}
template <class Sum>
__device__ __forceinline__ PackedState<RecordedStateOf<Sum>> pack(const RecordedStateOf<Sum>& state) {
  const PackedFacts<Sum> facts = ozfp4::pack(state.facts);
  PackedState<RecordedStateOf<Sum>> packed;
  packed.word[0] = pack(state.line).word[0];
#pragma unroll
  for (int i = 1; i < packed.words; ++i) packed.word[i] = facts.word[i - 1];
  return packed;
}
template <class Sum>
__device__ __forceinline__ RecordedStateOf<Sum> unpack(const PackedState<RecordedStateOf<Sum>>& packed) {
  PackedFacts<Sum> facts;
#pragma unroll
  for (int i = 1; i < packed.words; ++i) facts.word[i - 1] = packed.word[i];
  return {unpack(PackedState<LineState>{{packed.word[0]}}), ozfp4::unpack(facts)};
}

template <class State>
inline constexpr bool kHasWarpCombine = true;
template <>
inline constexpr bool kHasWarpCombine<RecordedState> = false;

// The state of a line that has the lanes of a warp as slots, in all of them: extremes and counts in one instruction each.
__device__ __forceinline__ LineState combine_warp(LineState state) {
  constexpr unsigned all = 0xFFFFFFFFu;
  raise_exponent(state.sum, __reduce_max_sync(all, state.sum.exponent));
  state.special = __reduce_or_sync(all, state.special);
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) {
    state.sum.sum = multiply_add_up(state.sum.sum, 1.0f, __shfl_xor_sync(all, state.sum.sum, apart));
  }
  return state;
}
// Precondition: the sums of all lanes fit a short state's.
__device__ __forceinline__ ShortRecordedState combine_warp(const ShortRecordedState& state) {
  constexpr unsigned all = 0xFFFFFFFFu;
  const ShortFacts& facts = state.facts;
  return {
      combine_warp(state.line),
      {__reduce_min_sync(all, facts.lowest), __reduce_add_sync(all, facts.nonzeros), __reduce_add_sync(all, facts.exponent_sum)}};
}

template <class T, int count>
__device__ __forceinline__ void add_batch(LineState& state, const T (&x)[count]) {
  std::uint32_t word[count], largest = 0;
#pragma unroll
  for (int i = 0; i < count; ++i) {
    word[i] = upper_word(x[i]);
    largest = max(largest, word[i]);
  }
  if (is_plain<T>(largest)) {
    add_words<T>(state.sum, word, largest);
    return;
  }
#pragma unroll
  for (int i = 0; i < count; ++i) {
    const FloatBits<T> magnitude = magnitude_bits(x[i]);
    if (magnitude >= kInfinityBits<T>) {
      state.special |= magnitude > kInfinityBits<T> ? kHasNan : kHasInfinity;
    } else if (magnitude != 0) {
      add_entry(state.sum, x[i]);
    }
  }
}

// Integers by their magnitudes as FP64 numbers, rounded up.
template <int count>
__device__ __forceinline__ void add_batch(LineState& state, const std::uint64_t (&x)[count]) {
  double magnitude[count];
#pragma unroll
  for (int i = 0; i < count; ++i) magnitude[i] = __ull2double_ru(x[i]);
  add_batch(state, magnitude);
}
template <int count>
__device__ __forceinline__ void add_batch(LineState& state, const std::int64_t (&x)[count]) {
  std::uint64_t magnitude[count];
#pragma unroll
  for (int i = 0; i < count; ++i) magnitude[i] = static_cast<std::uint64_t>(x[i] < 0 ? -static_cast<std::uint64_t>(x[i]) : x[i]);
  add_batch(state, magnitude);
}

template <class Sum, class T, int count>
__device__ __forceinline__ void add_batch(RecordedStateOf<Sum>& state, const T (&x)[count]) {
  std::uint32_t largest = 0;
#pragma unroll
  for (int i = 0; i < count; ++i) largest = max(largest, upper_word(x[i]));
  ozfp4::add_batch(state.facts, x, largest);
  add_batch(state.line, x);
}

template <class T>
struct alignas(16) LoadVector {
  T x[16 / sizeof(T)];
};

// The entries of `line` in [begin, end) that fall to this slot, Width adjacent ones a load.
template <class State, class T, int Width>
__device__ __forceinline__ State sum_entries(const ScaleOperand& operand, const char* line, std::uint32_t begin,
                                             std::uint32_t end, std::uint32_t slot) {
  constexpr int loads = kScaleBatch<T> / Width;
  const std::uint32_t step = static_cast<std::uint32_t>(Width) << operand.slots.log_count;
  const std::int64_t step_bytes = step * operand.inner_stride;
  State state;
  std::uint32_t k = begin + slot * Width;
  const char* address = line + k * operand.inner_stride;
  for (; k + (loads - 1) * step + Width <= end; k += loads * step) {
    T x[kScaleBatch<T>];
#pragma unroll
    for (int i = 0; i < loads; ++i, address += step_bytes) {
      if constexpr (Width == 1) {
        x[i] = __ldg(reinterpret_cast<const T*>(address));
      } else {
        const auto vector = *reinterpret_cast<const LoadVector<T>*>(address);
#pragma unroll
        for (int j = 0; j < Width; ++j) x[i * Width + j] = vector.x[j];
      }
    }
    add_batch(state, x);
  }
  if (k < end) {  // fewer than `loads` whole loads remain: entry by entry
    T x[kScaleBatch<T>];
#pragma unroll
    for (int i = 0; i < loads; ++i, address += step_bytes) {
#pragma unroll
      for (int j = 0; j < Width; ++j) {
        const bool inside = k + i * step + j < end;
        x[i * Width + j] = inside ? __ldg(reinterpret_cast<const T*>(address) + j) : T(0);
      }
    }
    add_batch(state, x);
  }
  return state;
}

// By 16-byte loads where they are possible.
template <class State, class T>
__device__ __forceinline__ State sum_typed(const ScaleOperand& operand, const char* line, std::uint32_t begin, std::uint32_t end,
                                           std::uint32_t slot) {
  return operand.vector_loads ? sum_entries<State, T, 16 / sizeof(T)>(operand, line, begin, end, slot)
                              : sum_entries<State, T, 1>(operand, line, begin, end, slot);
}

template <class State>
__device__ __forceinline__ State sum_entries(const ScaleOperand& operand, const char* line, std::uint32_t begin,
                                             std::uint32_t end, std::uint32_t slot) {
  if constexpr (kStateWords<State> == 1) {
    if (operand.type == ElementType::int64) return sum_typed<State, std::int64_t>(operand, line, begin, end, slot);
    if (operand.type == ElementType::uint64) return sum_typed<State, std::uint64_t>(operand, line, begin, end, slot);
  }
  return operand.type == ElementType::float64 ? sum_typed<State, double>(operand, line, begin, end, slot)
                                              : sum_typed<State, float>(operand, line, begin, end, slot);
}

}  // namespace ozfp4::cuda
