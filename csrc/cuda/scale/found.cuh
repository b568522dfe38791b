// Facts of a line that products in one launch find, in the words that threads exchange, and the scale that follows. They choose
// no number of moduli, so that the sum of a line is not needed.
#pragma once

#include <cstdint>
#include <type_traits>

#include "arith/accuracy/capacity.hpp"
#include "arith/accuracy/certificate.hpp"
#include "cuda/scale/line.cuh"

namespace ozfp4::cuda {

// Records: whether lines have some. The state's sum is not used, and so the compiler leaves it out.
template <bool Records>
using StateOf = std::conditional_t<Records, ShortRecordedState, LineState>;

// The facts of no entry, to begin with. The last three are ShortFacts', where lines have records.
struct alignas(16) Found {
  std::int32_t head = kNoExponent * 4;  // exponent * 4 + special flags
  std::uint32_t lowest = kNoLowest + kFactBias, nonzeros = 0, exponent_sum = 0;

  __device__ __forceinline__ std::int32_t exponent() const { return head >> 2; }
  __device__ __forceinline__ std::uint32_t special() const { return static_cast<std::uint32_t>(head) & 3u; }
  __device__ __forceinline__ LineFacts facts() const {
    return line_facts(ShortFacts{lowest, nonzeros, exponent_sum}, exponent());
  }
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

template <bool Records>
__device__ __forceinline__ Found combine(const Found& x, const Found& y) {
  Found both = x;
  both.head = head_of(max(x.exponent(), y.exponent()), x.special() | y.special());
  if constexpr (Records) {
    both.lowest = min(x.lowest, y.lowest);
    both.nonzeros += y.nonzeros;
    both.exponent_sum += y.exponent_sum;
  }
  return both;
}

// Over all lanes of the warp, in all of them.
template <bool Records>
__device__ __forceinline__ Found over_warp(const Found& own) {
  constexpr unsigned all = 0xFFFFFFFFu;
  Found both;
  both.head = head_of(__reduce_max_sync(all, own.exponent()), __reduce_or_sync(all, own.special()));
  if constexpr (Records) {
    both.lowest = __reduce_min_sync(all, own.lowest);
    both.nonzeros = __reduce_add_sync(all, own.nonzeros);
    both.exponent_sum = __reduce_add_sync(all, own.exponent_sum);
  }
  return both;
}

// Over the lanes that are `apart` or a power of two times it apart, up to `end`, in all of them.
template <bool Records>
__device__ __forceinline__ Found over_lanes(Found own, int apart, int end = 32) {
  for (; apart < end; apart *= 2) {
    Found other;
    other.head = __shfl_xor_sync(0xFFFFFFFFu, own.head, apart);
    if constexpr (Records) {
      other.lowest = __shfl_xor_sync(0xFFFFFFFFu, own.lowest, apart);
      other.nonzeros = __shfl_xor_sync(0xFFFFFFFFu, own.nonzeros, apart);
      other.exponent_sum = __shfl_xor_sync(0xFFFFFFFFu, own.exponent_sum, apart);
    }
    own = combine<Records>(own, other);
  }
  return own;
}

// A line with the facts that its block has.
struct OwnLine {
  std::int32_t shift, capacity;
  std::uint32_t special;
};

template <bool Records>
__device__ __forceinline__ OwnLine finish_line(const Found& found, const CapacityRule& how) {
  int capacity = how.bits;
  if constexpr (Records) capacity = line_capacity(how.accuracy, how.bits, found.facts(), how.precision, how.is_update);
  const std::int32_t exponent = found.exponent();
  return {exponent == kNoExponent ? 0 : scale_exponent(capacity, exponent), capacity, found.special()};
}

// Leaves it where scale does, of line `line` of all matrices.
template <bool Records>
__device__ __forceinline__ void keep(const ScaledOperand& operand, std::int64_t line, const Found& found, const OwnLine& own) {
  operand.shift[line] = own.shift;
  operand.special[line] = static_cast<std::uint8_t>(own.special);
  if constexpr (Records) operand.record[line] = make_record(found.facts(), own.capacity);
}

}  // namespace ozfp4::cuda
