// The state of a warp of the short form before its first row: scale exponents and flags, and the constants of the prefix in use.
// Then two neighbours of a row: columns to integers, to results, to memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "cuda/reconstruct/certify/segment.cuh"
#include "cuda/reconstruct/lines.cuh"
#include "cuda/reconstruct/round_fast.hpp"
#include "cuda/reconstruct/shape.cuh"

namespace ozfp4::cuda::short_form {

// The scale exponents and flags of a lane: those of its entries' columns, and lane i those of the i-th last row.
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

// Leaves the exponents in shared memory and returns the rows that need care. They have special entries, or exponents that could
// make a result neither normal nor 0 (float32 is tested entry by entry). Bit i is for the i-th last row.
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

// ---- Two neighbours --------------------------------------------------------------------------------------------------------

template <class T>
struct PairOf;
template <>
struct PairOf<double> {
  using type = double2;
};
template <>
struct PairOf<float> {
  using type = float2;
};

// Two neighbours of a row, with columns from the shared address `from` on, and their exponents; sets is_rare where the row has to
// be looked at entry by entry. Tests: `test` is the row's, and not kNoTest.
template <class T, class S, bool Tests>
__device__ __forceinline__ void round_pair(T (&value)[2], bool& is_rare, std::uint32_t from, std::int32_t shift,
                                           const ColumnConstants<S::Words>& constants, const RowTest& test) {
  constexpr int Words = S::Words;
  constexpr std::uint32_t exponent_from = offsetof(WarpShared<S>, exponent);  // from the columns
  std::uint32_t own[2][2 * Words];
#pragma unroll
  for (int s = 0; s < 2 * Words; ++s) {
    const uint2 both = load_shared(from + s * S::pitch * 4);
    own[0][s] = both.x, own[1][s] = both.y;
  }
  const uint2 exponent = load_shared(from + exponent_from);
  WideInt<Words> x[2];
  std::int32_t scale[2] = {static_cast<std::int32_t>(exponent.x) - shift, static_cast<std::int32_t>(exponent.y) - shift};
  [[maybe_unused]] const std::int32_t first_scale[2] = {scale[0], scale[1]};
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const std::uint32_t estimate = column_estimate(own[i], constants);
    is_rare = is_rare || is_uncertain(estimate);
    x[i] = column_integer(own[i], column_quotient(estimate), constants);
  }
  if (has_redundant_word(x[0]) || has_redundant_word(x[1])) {  // small numbers: one branch for both
    scale[0] -= drop_redundant_words(x[0]);
    scale[1] -= drop_redundant_words(x[1]);
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    bool is_unusual = false;
    value[i] = round_leading<T>(x[i], scale[i], is_unusual);
    if constexpr (!std::is_same_v<T, double>) is_rare = is_rare || is_unusual;
    if constexpr (Tests) is_rare = is_rare || is_doubtful<T>(x[i], scale[i], first_scale[i], test);
  }
}

// How a lane stores: entry by entry, looking which exist; all, two at once; or all, each by itself.
inline constexpr std::int32_t kLooks = 0, kInPairs = 1, kApart = 2;

// Stores pair `pair` of a lane's entries; `target` is its first.
template <class T, class S>
__device__ __forceinline__ void store_pair(const Parameters<S>& p, char* target, int pair, const T (&value)[2],
                                           std::int32_t way) {
  if (way == kInPairs) {
    __stcs(reinterpret_cast<typename PairOf<T>::type*>(target) + 32 * pair, {value[0], value[1]});
    return;
  }
  if (way == kApart) {
    char* first = target + 64 * pair * p.job.result.column_stride;
    *reinterpret_cast<T*>(first) = value[0];
    *reinterpret_cast<T*>(first + p.job.result.column_stride) = value[1];
    return;
  }
  const int entries = Place<S>(p).entries;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int e = Place<S>::entry_of(2 * pair + i);
    if (e < entries) *reinterpret_cast<T*>(target + (e - Place<S>::entry_of(0)) * p.job.result.column_stride) = value[i];
  }
}

}  // namespace ozfp4::cuda::short_form
