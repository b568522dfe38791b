// From the states of lines to the results of scale. Each line has its shift and record; from the sums and the extremes of all
// lines come the number of moduli, and whether every entry is certain.
#pragma once

#include <cstdint>

#include "arith/accuracy/certificate.hpp"
#include "cuda/scale/arguments.cuh"
#include "cuda/scale/line.cuh"
#include "cuda/scale/line_sum.hpp"

namespace ozfp4::cuda {

// ---- All lines -------------------------------------------------------------------------------------------------------------

// The moduli that the rule chooses, as moduli_needed. Precondition: product >= 0, rounded up. Called by one whole warp.
__device__ __forceinline__ int choose_prefix(const PrefixRule& rule, double product) {
#pragma unroll
  for (int first = 0; first < kMaxModuli; first += 32) {
    const int count = first + static_cast<int>(threadIdx.x % 32) + 1;
    const bool serves = count >= rule.least && count < rule.all && product < rule.limit[count - 1];
    const std::uint32_t serving = __ballot_sync(0xFFFFFFFFu, serves);
    if (serving != 0) return first + __ffs(static_cast<int>(serving));
  }
  return rule.all;
}

__device__ __forceinline__ void raise(std::uint32_t& to, std::uint32_t x) {
  if (x != 0) atomicMax(&to, x);
}
__device__ __forceinline__ void raise(std::uint64_t& to, std::uint64_t x) {
  if (x != 0) atomicMax(reinterpret_cast<unsigned long long*>(&to), static_cast<unsigned long long>(x));
}
__device__ __forceinline__ void raise(LineExtremes& to, const LineExtremes& x) {
  raise(to.depth, x.depth);
  raise(to.missing, x.missing);
  raise(to.rounded, x.rounded);
}

__device__ __forceinline__ LineExtremes load_extremes(const LineExtremes& x) {
  return {static_cast<std::uint64_t>(__ldcg(reinterpret_cast<const unsigned long long*>(&x.depth))), __ldcg(&x.missing),
          __ldcg(&x.rounded)};
}

// The extremes of an operand's lines on their way through a block's shared memory to the totals, and the decision's part that
// they make: nothing where lines have no records.
template <class State>
struct ExtremesReport {
  __device__ __forceinline__ void open() {}
  __device__ __forceinline__ void pass_on(ScaleTotals&, bool) {}
  static __device__ __forceinline__ void decide(ScaleDecision& decision, const ScaleTotals&, const NormReport&, const LineRule&) {
    decision.is_certain = 0;
  }
  static __device__ __forceinline__ void keep(const ScaleTotals&, const NormReport&) {}
};

template <class Sum>
struct ExtremesReport<RecordedStateOf<Sum>> {
  LineExtremes block;

  // One thread, a barrier before any adds.
  __device__ __forceinline__ void open() { block = LineExtremes{}; }
  __device__ __forceinline__ void add(const LineExtremes& line) { raise(block, line); }
  // One thread, a barrier after the others have added.
  __device__ __forceinline__ void pass_on(ScaleTotals& totals, bool is_b) { raise(totals.extremes[is_b], block); }

  // One thread of the last block. The extremes of an operand that was scaled earlier are read where they were kept.
  static __device__ __forceinline__ void decide(ScaleDecision& decision, const ScaleTotals& totals, const NormReport& norms,
                                                const LineRule& lines) {
    const CapacityRule& how = lines.capacity;
    decision.is_certain = 0;
    const bool has_both = norms.scaled == 2;
    if (!has_both && norms.extremes[1] == nullptr) return;
    const LineExtremes a = load_extremes(totals.extremes[0]);
    const LineExtremes b = load_extremes(has_both ? totals.extremes[1] : *norms.extremes[1]);
    decision.is_certain = is_certain(a, b, how.accuracy, norms.inner) ? 1 : 0;
  }

  // Likewise: those of the launch's operands, for products of other launches.
  static __device__ __forceinline__ void keep(const ScaleTotals& totals, const NormReport& norms) {
    for (std::uint32_t i = 0; i < norms.scaled; ++i) {
      if (norms.extremes[i] != nullptr) *norms.extremes[i] = load_extremes(totals.extremes[i]);
    }
  }
};

// The facts that a block's threads find of its lines, in its shared memory.
template <class State>
struct BlockReport {
  std::uint32_t largest_sum;  // bits of the largest LineSum::sum
  std::uint32_t lines_done;
  ExtremesReport<State> extremes;

  // One thread, a barrier before the others add.
  __device__ __forceinline__ void open() {
    largest_sum = lines_done = 0;
    extremes.open();
  }
};

// Called by one warp of a block with a complete report. The last block to do so writes the norms of the launch's operands and
// what the lines of both decide.
template <class State>
__device__ __forceinline__ void pass_on_report(const NormReport& norms, const LineRule& lines, bool is_b,
                                               BlockReport<State>& report) {
  ScaleTotals& totals = *norms.totals;
  const bool is_first = threadIdx.x % 32 == 0;
  std::uint32_t arrived = 0;
  if (is_first) {
    // The sums are of one capacity, and the norm bound grows with them, so the largest of an operand is all that the last block
    // needs.
    atomicMax(&totals.largest_sum[is_b], report.largest_sum);
    report.extremes.pass_on(totals, is_b);
    __threadfence();
    arrived = atomicAdd(&totals.blocks_done, 1u);
    __threadfence();
  }
  arrived = __shfl_sync(0xFFFFFFFFu, arrived, 0);
  if (arrived != norms.blocks - 1) return;
  double norm[2] = {0.0, 0.0};
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    if (i < static_cast<int>(norms.scaled)) {
      const float sum = float_from_bits<float>(__ldcg(&totals.largest_sum[i]));
      norm[i] = norm_squared_bound(sum, norms.inner, norms.capacity);
      if (is_first) *norms.norm[i] = norm[i];
    } else if (norms.decision != nullptr) {
      norm[i] = __ldcg(norms.norm[i]);
    }
  }
  const int count = choose_prefix(norms.rule, __dmul_ru(norm[0], norm[1]));
  if (is_first) {
    if (norms.decision != nullptr) {
      norms.decision->moduli_used = count;
      ExtremesReport<State>::decide(*norms.decision, totals, norms, lines);
    }
    ExtremesReport<State>::keep(totals, norms);
    totals = ScaleTotals();
  }
}

// Called by all threads of a block that is done with its lines of an operand; `line_sum` is the largest LineSum::sum that the
// thread has.
template <class State>
__device__ __forceinline__ void report_norms(const NormReport& norms, const LineRule& lines, bool is_b, float line_sum,
                                             BlockReport<State>& report) {
  if (norms.rule.all == 0) return;
  const std::uint32_t largest = __reduce_max_sync(0xFFFFFFFFu, float_bits(line_sum));
  if (threadIdx.x % 32 == 0) raise(report.largest_sum, largest);
  __syncthreads();
  if (threadIdx.x < 32) pass_on_report(norms, lines, is_b, report);
}

// The same without a barrier: called by all lanes of a warp, `is_done` where a lane is done with one of the block's `count`
// lines. The warp that is done with the last one passes the report on.
template <class State>
__device__ __forceinline__ void report_line(const NormReport& norms, const LineRule& lines, bool is_b, bool is_done,
                                            float line_sum, std::uint32_t count, BlockReport<State>& report) {
  if (norms.rule.all == 0) return;
  bool is_last = false;
  if (is_done) {
    raise(report.largest_sum, float_bits(line_sum));
    __threadfence_block();
    is_last = atomicAdd(&report.lines_done, 1u) == count - 1;
    __threadfence_block();
  }
  if (!__any_sync(0xFFFFFFFFu, is_last)) return;
  __syncwarp();  // what the last lane has seen, all see
  pass_on_report(norms, lines, is_b, report);
}

// ---- A line ----------------------------------------------------------------------------------------------------------------

struct LineOutcome {
  int capacity, shift;
  std::uint32_t special;
  float sum;  // for norm_squared_bound of the report's capacity
};

__device__ __forceinline__ LineOutcome outcome_of(const LineState& state, int capacity, float sum) {
  const int exponent = state.sum.exponent;
  return {capacity, exponent == kNoExponent ? 0 : scale_exponent(capacity, exponent), state.special, sum};
}

__device__ __forceinline__ LineOutcome finish_line(const LineState& state, const LineRule& rule, const NormReport& norms) {
  if (rule.capacity.has_integers && state.sum.exponent != kNoExponent) {  // the capacity at which nothing is scaled
    const int capacity = state.sum.exponent + 1;
    return outcome_of(state, capacity, sum_at_capacity(state.sum.sum, capacity, norms.capacity));
  }
  return outcome_of(state, norms.capacity, state.sum.sum);
}
template <class Sum>
__device__ __forceinline__ LineOutcome finish_line(const RecordedStateOf<Sum>& state, const LineRule& rule,
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
