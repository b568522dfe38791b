// Two neighbours of a row of the short form: columns to integers, to results, to memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "cuda/reconstruct/certify/segment.cuh"
#include "cuda/reconstruct/round_fast.hpp"
#include "cuda/reconstruct/shape.cuh"

namespace ozfp4::cuda::short_form {

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

// Two neighbours of a row, whose columns start at the shared address `from`, with their exponents; sets is_rare where the row
// has to be looked at entry by entry. Tests: `test` is the row's, and not kNoTest.
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
