// One thread's share of a line: loads and sums.
#pragma once

#include <cstdint>

#include "arith/accuracy/batch_facts.hpp"
#include "arith/line_sum.hpp"
#include "arith/scale_entry.hpp"
#include "arith/special.hpp"
#include "cuda/scale/arguments.cuh"

namespace ozfp4::cuda {

struct LineState {
  LineSum sum;
  std::uint32_t special = kFinite;
};

// Where the lines' records are asked for.
struct RecordedState {
  LineState line;
  BatchFacts facts;
};

__device__ __forceinline__ LineState combine(const LineState& x, const LineState& y) {
  return {ozfp4::combine(x.sum, y.sum), x.special | y.special};
}
__device__ __forceinline__ RecordedState combine(const RecordedState& x, const RecordedState& y) {
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
__device__ __forceinline__ PackedState<RecordedState> pack(const RecordedState& state) {
  const PackedFacts facts = ozfp4::pack(state.facts);
  return {{pack(state.line).word[0], facts.word[0], facts.word[1]}};
}
__device__ __forceinline__ RecordedState unpack(const PackedState<RecordedState>& packed) {
  return {unpack(PackedState<LineState>{{packed.word[0]}}), ozfp4::unpack(PackedFacts{{packed.word[1], packed.word[2]}})};
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

template <class T, int count>
__device__ __forceinline__ void add_batch(RecordedState& state, const T (&x)[count]) {
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

template <class State>
__device__ __forceinline__ State sum_entries(const ScaleOperand& operand, const char* line, std::uint32_t begin,
                                             std::uint32_t end, std::uint32_t slot) {
  if (operand.is_double) {
    return operand.vector_loads ? sum_entries<State, double, 2>(operand, line, begin, end, slot)
                                : sum_entries<State, double, 1>(operand, line, begin, end, slot);
  }
  return operand.vector_loads ? sum_entries<State, float, 4>(operand, line, begin, end, slot)
                              : sum_entries<State, float, 1>(operand, line, begin, end, slot);
}

}  // namespace ozfp4::cuda
