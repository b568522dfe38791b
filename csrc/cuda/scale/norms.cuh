// From the sums and the extremes of all lines to the number of moduli, and to whether every entry is certain.
#pragma once

#include <cstdint>

#include "arith/line_sum.hpp"
#include "cuda/scale/arguments.cuh"

namespace ozfp4::cuda {

// What a thread, or a block, knows of the lines that it is done with.
template <class State>
struct LinesSeen {
  float sum = 0.0f;  // the largest LineSum::sum
};
template <>
struct LinesSeen<RecordedState> {
  float sum = 0.0f;
  LineExtremes extremes{};
};

// What the rule chooses, as moduli_needed. Range: product >= 0, rounded up. Called by one whole warp.
__device__ __forceinline__ int choose_prefix(const PrefixRule& rule, double product) {
#pragma unroll
  for (int first = 0; first < kMaxModuli; first += 32) {
    const int count = first + static_cast<int>(threadIdx.x) + 1;
    const bool serves = count >= rule.least && count < rule.all && product < rule.limit[count - 1];
    const std::uint32_t serving = __ballot_sync(0xFFFFFFFFu, serves);
    if (serving != 0) return first + __ffs(static_cast<int>(serving));
  }
  return rule.all;
}

// The largest of the lanes' numbers. All lanes of a warp call it.
__device__ __forceinline__ std::uint32_t warp_max(std::uint32_t x) { return __reduce_max_sync(0xFFFFFFFFu, x); }
__device__ __forceinline__ std::uint64_t warp_max(std::uint64_t x) {
  const auto high = static_cast<std::uint32_t>(x >> 32), largest = warp_max(high);
  return std::uint64_t(largest) << 32 | warp_max(high == largest ? static_cast<std::uint32_t>(x) : 0u);
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
  raise(to.lack, x.lack);
  raise(to.widest, x.widest);
}

// The extremes of an operand's lines on their way through a block to the totals, and the verdict's part that they make: nothing
// where lines have no records.
template <class State>
struct ExtremesReport {
  __device__ __forceinline__ void open() {}
  __device__ __forceinline__ void add(const LinesSeen<State>&) {}
  __device__ __forceinline__ void pass_on(ScaleTotals&, bool) {}
  static __device__ __forceinline__ void decide(Verdict& verdict, const ScaleTotals&, const NormReport& norms, const LineRule&) {
    verdict.is_certain = 0;
    verdict.widest_capacity = norms.capacity;
  }
};

template <>
struct ExtremesReport<RecordedState> {
  LineExtremes block;  // in shared memory

  // One thread, a barrier before the others add.
  __device__ __forceinline__ void open() { block = LineExtremes{}; }
  // All lanes of a warp.
  __device__ __forceinline__ void add(const LinesSeen<RecordedState>& seen) {
    const LineExtremes& own = seen.extremes;
    const LineExtremes all{warp_max(own.depth), warp_max(own.missing), warp_max(own.lack), warp_max(own.widest)};
    if (threadIdx.x % 32 == 0) raise(block, all);
  }
  // One thread, a barrier after the others have added.
  __device__ __forceinline__ void pass_on(ScaleTotals& totals, bool is_b) { raise(totals.extremes[is_b], block); }

  // One thread of the last block. Of an operand that was scaled by itself earlier nothing but the norm is known.
  static __device__ __forceinline__ void decide(Verdict& verdict, const ScaleTotals& totals, const NormReport& norms,
                                                const LineRule& lines) {
    const CapacityRule& how = lines.capacity;
    verdict.is_certain = 0;
    verdict.widest_capacity = how.bits;
    if (norms.scaled < 2) return;
    LineExtremes of[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const LineExtremes& total = totals.extremes[i];
      of[i] = {static_cast<std::uint64_t>(__ldcg(reinterpret_cast<const unsigned long long*>(&total.depth))),
               __ldcg(&total.missing), __ldcg(&total.lack), __ldcg(&total.widest)};
    }
    verdict.is_certain = is_certain(of[0], of[1], how.accuracy, norms.inner, how.precision) ? 1 : 0;
    verdict.widest_capacity = static_cast<int>(max(of[0].widest, of[1].widest));
  }
};

// Called by all threads of a block that is done with its lines of an operand. The last block to call writes the norms of the
// launch's operands and what the lines of both decide.
template <class State>
__device__ __forceinline__ void report_norms(const NormReport& norms, const LineRule& lines, bool is_b,
                                             const LinesSeen<State>& seen) {
  if (norms.rule.all == 0) return;
  // The sums are of one capacity, and the norm bound grows with them, so the largest sum of an operand is all that the last block
  // needs.
  ScaleTotals& totals = *norms.totals;
  __shared__ std::uint32_t block_largest;
  __shared__ ExtremesReport<State> extremes;
  if (threadIdx.x == 0) {
    block_largest = 0;
    extremes.open();
  }
  __syncthreads();
  const std::uint32_t largest = __reduce_max_sync(0xFFFFFFFFu, float_bits(seen.sum));
  if (threadIdx.x % 32 == 0 && largest != 0) atomicMax(&block_largest, largest);
  extremes.add(seen);
  __syncthreads();
  if (threadIdx.x >= 32) return;
  std::uint32_t arrived = 0;
  if (threadIdx.x == 0) {
    atomicMax(&totals.largest_sum[is_b], block_largest);
    extremes.pass_on(totals, is_b);
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
      if (threadIdx.x == 0) *norms.norm[i] = norm[i];
    } else if (norms.verdict != nullptr) {
      norm[i] = __ldcg(norms.norm[i]);
    }
  }
  const int count = choose_prefix(norms.rule, __dmul_ru(norm[0], norm[1]));
  if (threadIdx.x == 0) {
    if (norms.verdict != nullptr) {
      norms.verdict->units_used = count;
      ExtremesReport<State>::decide(*norms.verdict, totals, norms, lines);
    }
    totals = ScaleTotals();
  }
}

}  // namespace ozfp4::cuda
