// From the sums of all lines to the number of moduli.
#pragma once

#include <cstdint>

#include "arith/line_sum.hpp"
#include "cuda/scale/arguments.cuh"

namespace ozfp4::cuda {

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

// Called by all threads of a block that is done with its lines of an operand, `line_sum` the largest LineSum::sum that the
// thread knows of. The last block to call writes the norms of the launch's operands and how many moduli the two norms ask for.
__device__ __forceinline__ void report_norms(const NormReport& norms, bool is_b, float line_sum) {
  if (norms.rule.all == 0) return;
  // The sums are of one capacity, and the norm bound grows with them, so the largest sum of an operand is all that the last block
  // needs.
  ScaleTotals& totals = *norms.totals;
  __shared__ std::uint32_t block_largest;
  if (threadIdx.x == 0) block_largest = 0;
  __syncthreads();
  const std::uint32_t largest = __reduce_max_sync(0xFFFFFFFFu, float_bits(line_sum));
  if (threadIdx.x % 32 == 0 && largest != 0) atomicMax(&block_largest, largest);
  __syncthreads();
  if (threadIdx.x >= 32) return;
  std::uint32_t arrived = 0;
  if (threadIdx.x == 0) {
    atomicMax(&totals.largest_sum[is_b], block_largest);
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
    } else if (norms.units_used != nullptr) {
      norm[i] = __ldcg(norms.norm[i]);
    }
  }
  const int count = choose_prefix(norms.rule, __dmul_ru(norm[0], norm[1]));
  if (threadIdx.x == 0) {
    if (norms.units_used != nullptr) *norms.units_used = count;
    totals = ScaleTotals();
  }
}

}  // namespace ozfp4::cuda
