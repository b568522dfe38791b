// One thread's share of a line: loads and sums.
#pragma once

#include <cstdint>

#include "arith/line_sum.hpp"
#include "arith/scale_entry.hpp"
#include "arith/special.hpp"
#include "cuda/scale/arguments.cuh"

namespace ozfp4::cuda {

struct LineState {
  LineSum sum;
  std::uint32_t special = kFinite;
};

__device__ __forceinline__ LineState combine(const LineState& x, const LineState& y) {
  return {ozfp4::combine(x.sum, y.sum), x.special | y.special};
}

// A state as one word: exponent and flags, sum.
__device__ __forceinline__ std::uint64_t pack(const LineState& state) {
  const std::uint32_t high = static_cast<std::uint32_t>(state.sum.exponent) << 2 | state.special;
  return std::uint64_t(high) << 32 | float_bits(state.sum.sum);
}
__device__ __forceinline__ LineState unpack(std::uint64_t word) {
  const auto high = static_cast<std::int32_t>(word >> 32);
  return {{high >> 2, float_from_bits<float>(static_cast<std::uint32_t>(word))}, static_cast<std::uint32_t>(high) & 3u};
}

// The scale exponent of a line.
__device__ __forceinline__ int line_shift(const LineState& state, int capacity) {
  return state.sum.exponent == kNoExponent ? 0 : scale_exponent(capacity, state.sum.exponent);
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

template <class T>
struct alignas(16) LoadVector {
  T x[16 / sizeof(T)];
};

// The entries of `line` in [begin, end) that fall to this slot, Width adjacent ones a load.
template <class T, int Width>
__device__ __forceinline__ LineState sum_entries(const ScaleOperand& operand, const char* line, std::uint32_t begin,
                                                 std::uint32_t end, std::uint32_t slot) {
  constexpr int loads = kScaleBatch<T> / Width;
  const std::uint32_t step = static_cast<std::uint32_t>(Width) << operand.slots.log_count;
  const std::int64_t step_bytes = step * operand.inner_stride;
  LineState state;
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

__device__ __forceinline__ LineState sum_entries(const ScaleOperand& operand, const char* line, std::uint32_t begin,
                                                 std::uint32_t end, std::uint32_t slot) {
  if (operand.is_double) {
    return operand.vector_loads ? sum_entries<double, 2>(operand, line, begin, end, slot)
                                : sum_entries<double, 1>(operand, line, begin, end, slot);
  }
  return operand.vector_loads ? sum_entries<float, 4>(operand, line, begin, end, slot)
                              : sum_entries<float, 1>(operand, line, begin, end, slot);
}

}  // namespace ozfp4::cuda
