// What is found of a line, in the words that threads exchange, and what it decides.
#pragma once

#include <cstdint>
#include <type_traits>

#include "arith/accuracy/capacity.hpp"
#include "arith/accuracy/certificate.hpp"
#include "cuda/scale/line.cuh"
#include "cuda/scale/scale.hpp"

namespace ozfp4::cuda::thin {

template <bool Certifies>
using StateOf = std::conditional_t<Certifies, ShortRecordedState, LineState>;

// Of no entry, to begin with. The last three are ShortFacts', where lines have records.
struct alignas(16) Found {
  std::int32_t head = kNoExponent * 4;  // exponent * 4 + special flags
  std::uint32_t lowest = kNoLowest + kFactBias, nonzeros = 0, exponent_sum = 0;

  __device__ __forceinline__ std::int32_t exponent() const { return head >> 2; }
  __device__ __forceinline__ std::uint32_t special() const { return static_cast<std::uint32_t>(head) & 3u; }
};

__device__ __forceinline__ std::int32_t head_of(std::int32_t exponent, std::uint32_t special) {
  return exponent * 4 + static_cast<std::int32_t>(special);
}
__device__ __forceinline__ Found found_of(const LineState& state) {
  Found found;
  found.head = head_of(state.sum.exponent, state.special);
  return found;
}
__device__ __forceinline__ Found found_of(const ShortRecordedState& state) {
  return {head_of(state.line.sum.exponent, state.line.special), state.facts.lowest, state.facts.nonzeros,
          state.facts.exponent_sum};
}

template <bool Certifies>
__device__ __forceinline__ Found combine(const Found& x, const Found& y) {
  Found both = x;
  both.head = head_of(max(x.exponent(), y.exponent()), x.special() | y.special());
  if constexpr (Certifies) {
    both.lowest = min(x.lowest, y.lowest);
    both.nonzeros += y.nonzeros;
    both.exponent_sum += y.exponent_sum;
  }
  return both;
}

// Over all lanes of the warp, in all of them.
template <bool Certifies>
__device__ __forceinline__ Found over_warp(const Found& own) {
  constexpr unsigned all = 0xFFFFFFFFu;
  Found both;
  both.head = head_of(__reduce_max_sync(all, own.exponent()), __reduce_or_sync(all, own.special()));
  if constexpr (Certifies) {
    both.lowest = __reduce_min_sync(all, own.lowest);
    both.nonzeros = __reduce_add_sync(all, own.nonzeros);
    both.exponent_sum = __reduce_add_sync(all, own.exponent_sum);
  }
  return both;
}

// Over the lanes that are `apart` or a power of two times it apart, in all of them.
template <bool Certifies>
__device__ __forceinline__ Found over_lanes(Found own, int apart) {
  for (; apart < 32; apart *= 2) {
    Found other;
    other.head = __shfl_xor_sync(0xFFFFFFFFu, own.head, apart);
    if constexpr (Certifies) {
      other.lowest = __shfl_xor_sync(0xFFFFFFFFu, own.lowest, apart);
      other.nonzeros = __shfl_xor_sync(0xFFFFFFFFu, own.nonzeros, apart);
      other.exponent_sum = __shfl_xor_sync(0xFFFFFFFFu, own.exponent_sum, apart);
    }
    own = combine<Certifies>(own, other);
  }
  return own;
}

struct Settled {
  std::int32_t shift, capacity;
};

__device__ __forceinline__ LineFacts facts_of(const Found& found) {
  return line_facts(ShortFacts{found.lowest, found.nonzeros, found.exponent_sum}, found.exponent());
}

template <bool Certifies>
__device__ __forceinline__ Settled settle(const Found& found, const CapacityRule& how, std::int32_t inner) {
  int capacity = how.bits;
  if constexpr (Certifies) capacity = line_capacity(how.accuracy, how.bits, facts_of(found), how.precision);
  const std::int32_t exponent = found.exponent();
  return {exponent == kNoExponent ? 0 : scale_exponent(capacity, exponent), capacity};
}

// Leaves it where scale does, of line `line` of all matrices.
template <bool Certifies>
__device__ __forceinline__ void keep(const ScaledOperand& operand, std::int64_t line, const Found& found,
                                     const Settled& settled) {
  operand.shift[line] = settled.shift;
  operand.special[line] = static_cast<std::uint8_t>(found.special());
  if constexpr (Certifies) operand.record[line] = make_record(facts_of(found), settled.capacity);
}

// first * second = 2^shift, normal numbers both; x * first is exact for every x of a line with this shift. The shift is above
// kMostShift only where all entries are tiny.
struct Factors {
  double first, second;
};
inline constexpr int kMostShift = 1000, kMoved = 200;
__device__ __forceinline__ Factors factors_of(std::int32_t shift) {
  const bool is_moved = shift > kMostShift;
  return {is_moved ? exact_power_of_two<double>(kMoved) : 1.0, exact_power_of_two<double>(is_moved ? shift - kMoved : shift)};
}

}  // namespace ozfp4::cuda::thin
