// What a warp of the short form knows before its first row: scale exponents and flags, and the constants of the prefix in use.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cuda/reconstruct/lines.cuh"
#include "cuda/reconstruct/round_fast.hpp"
#include "cuda/reconstruct/shape.cuh"

namespace ozfp4::cuda::short_form {

// What a lane knows of the scale exponents and flags: those of its entries' columns, and lane i those of the i-th last row.
template <int Vec>
struct LaneScales {
  std::int32_t row_shift = 0, column_shift[Vec] = {};
  std::uint32_t row_flags = 0, column_flags = 0;

  // Precondition: the place holds entries and rows.
  template <class Place>
  __device__ __forceinline__ void load(const ReconstructJob& job, const Place& place, const Lines& lines) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const std::int64_t own_row = lines.a + max(place.rows - 1 - lane, 0) * place.step_y;
    row_shift = job.a.shift[own_row];
    row_flags = flags_of(job.a, own_row);
#pragma unroll
    for (int j = 0; j < Vec; ++j) {
      const std::int64_t line = lines.b + min(place.entry_of(j), place.entries - 1);
      column_shift[j] = job.b.shift[line];
      column_flags |= flags_of(job.b, line);
    }
  }
};

// Brings the constants of the prefix that the data needs to shared memory; returns its count. All threads call it.
template <class S>
__device__ __forceinline__ int load_table(std::uint32_t (&table)[S::table_words], const Parameters<S>& p) {
  const int count = residues_used(p.job, p.least, p.all);
#pragma unroll
  for (int i = 0; i < S::table_words; i += kThreads) {
    const int at = i + static_cast<int>(threadIdx.x);
    if (at < S::table_words) table[at] = p.table[count - p.least][at];
  }
  __syncthreads();
  return count;
}

// This lane's words of the weights, from a table of load_table.
template <class S>
__device__ __forceinline__ void load_weights(std::uint32_t (&weight)[S::Steps][S::tiles],
                                             const std::uint32_t (&table)[S::table_words]) {
  constexpr int first = static_cast<int>(sizeof(ColumnConstants<S::Words>)) / 4;
#pragma unroll
  for (int step = 0; step < S::Steps; ++step) {
#pragma unroll
    for (int tile = 0; tile < S::tiles; ++tile) {
      weight[step][tile] = table[first + (step * S::tiles + tile) * 32 + static_cast<int>(threadIdx.x % 32)];
    }
  }
}

// Leaves the exponents in shared memory and returns the rows to take care of: with special entries, or with exponents that
// could make a result neither normal nor 0 (float32 is asked entry by entry). Bit i stands for the i-th last row.
template <class T, class S>
__device__ __forceinline__ std::uint32_t share_exponents(WarpShared<S>& shared, const LaneScales<S::vec>& scales,
                                                         std::int32_t constant_shift) {
  constexpr std::uint32_t all_lanes = 0xffffffffu;
  const int lane = static_cast<int>(threadIdx.x % 32);
  std::int32_t least_shift = INT32_MIN, most_shift = INT32_MAX;
#pragma unroll
  for (int j = 0; j < S::vec; ++j) {
    const std::int32_t exponent = -constant_shift - scales.column_shift[j];
    shared.exponent[j / 2][lane][j % 2] = exponent;
    least_shift = max(least_shift, exponent - kMostSafeExponent<T, S::Words>);
    most_shift = min(most_shift, exponent - kLeastSafeExponent<T, S::Words>);
  }
  bool needs_care = scales.row_flags != kFinite;
  if constexpr (std::is_same_v<T, double>) {
    least_shift = __reduce_max_sync(all_lanes, least_shift);
    most_shift = __reduce_min_sync(all_lanes, most_shift);
    needs_care = needs_care || scales.row_shift < least_shift || scales.row_shift > most_shift;
  }
  shared.row_shift[lane] = scales.row_shift;
  const std::uint32_t care = __ballot_sync(all_lanes, needs_care);
  return __any_sync(all_lanes, scales.column_flags != kFinite) ? ~0u : care;
}

}  // namespace ozfp4::cuda::short_form
