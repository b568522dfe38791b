// What scale leaves of a line, from the state of all its entries.
#pragma once

#include <cstdint>

#include "arith/accuracy/certificate.hpp"
#include "cuda/scale/line.cuh"
#include "cuda/scale/norms.cuh"

namespace ozfp4::cuda {

struct LineOutcome {
  int capacity, shift;
  std::uint32_t special;
  float sum;  // for norm_squared_bound of the report's capacity
};

__device__ __forceinline__ LineOutcome outcome_of(const LineState& state, int capacity, float sum) {
  const int exponent = state.sum.exponent;
  return {capacity, exponent == kNoExponent ? 0 : scale_exponent(capacity, exponent), state.special, sum};
}

__device__ __forceinline__ LineOutcome settle_line(const LineState& state, const LineRule& rule, const NormReport& norms) {
  if (rule.capacity.is_whole && state.sum.exponent != kNoExponent) {  // the capacity at which nothing is scaled
    const int capacity = state.sum.exponent + 1;
    return outcome_of(state, capacity, sum_at_capacity(state.sum.sum, capacity, norms.capacity));
  }
  return outcome_of(state, norms.capacity, state.sum.sum);
}
template <class Sum>
__device__ __forceinline__ LineOutcome settle_line(const RecordedStateOf<Sum>& state, const LineRule& rule,
                                                   const NormReport& norms) {
  const LineFacts facts = line_facts(state.facts, state.line.sum.exponent);
  const CapacityRule& how = rule.capacity;
  const int usual = line_capacity(how.accuracy, how.bits, facts, how.precision, how.is_update);
  const int capacity = how.exact_bits == 0 ? usual : exact_capacity(usual, how.exact_bits, facts);
  return outcome_of(state.line, capacity, sum_at_capacity(state.line.sum.sum, capacity, norms.capacity));
}

// Writes a line's record, and adds it to the report, where lines have such.
__device__ __forceinline__ void record_line(ExtremesReport<LineState>&, const LineState&, const LineOutcome&, const LineRule&,
                                            std::uint32_t, bool, std::uint32_t) {}
template <class Sum>
__device__ __forceinline__ void record_line(ExtremesReport<RecordedStateOf<Sum>>& extremes, const RecordedStateOf<Sum>& state,
                                            const LineOutcome& outcome, const LineRule& rule, std::uint32_t inner, bool is_b,
                                            std::uint32_t stacked_line) {
  LineRecord record = make_record(line_facts(state.facts, state.line.sum.exponent), outcome.capacity);
  extremes.add(line_extremes(record, outcome.special != kFinite, inner));
  if (rule.capacity.accuracy == Accuracy::correct) record.rounded = 0;  // encode counts
  rule.record[is_b][stacked_line] = record;
}

}  // namespace ozfp4::cuda
