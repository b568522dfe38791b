// From residues in registers to results in memory: what a warp does with 16 rows of 64 columns behind the last modulus.
//
// Pair 2 j + h of a lane is columns 8 j + 2 t and 8 j + 2 t + 1 of row g + 8 h: entries 4 j + 2 h and the next of the residues.
#pragma once

#include <cstdint>
#include <type_traits>

#include "arith/wide/round_fast.hpp"
#include "arith/wide/round_wide.hpp"
#include "cuda/fused/planes/certify.cuh"
#include "cuda/fused/planes/columns.cuh"
#include "cuda/fused/planes/residues.cuh"
#include "cuda/fused/planes/scales.cuh"
#include "cuda/fused/planes/shape.cuh"
#include "cuda/reconstruct/lines.cuh"
#include "cuda/reconstruct/row.cuh"

namespace ozfp4::cuda::fused_planes {

inline constexpr int kPairs = Config::kEntries / 2;

// Where a lane's entries go.
template <class T>
class Target {
 public:
  __device__ __forceinline__ Target(const ReconstructJob& job, const Place& place, const Lines& lines, bool has_pairs)
      : result_(job.result) {
    const int lane = static_cast<int>(threadIdx.x % 32), row = place.first_row + lane / 4;
    const int column = place.first_column + 2 * (lane % 4);
    rows_ = job.result.rows - row;
    columns_ = job.result.columns - column;
    data_ = job.result.data + lines.result_offset + row * job.result.row_stride + column * job.result.column_stride;
    stores_pairs_ = has_pairs && place.first_column + Config::kN <= job.result.columns;
  }

  // Whether entry e of a pair exists.
  __device__ __forceinline__ bool exists(int pair, int e) const {
    return 8 * (pair % 2) < rows_ && 8 * (pair / 2) + e < columns_;
  }
  __device__ __forceinline__ void store(int pair, int e, T value) const {
    *reinterpret_cast<T*>(data_ + 8 * (pair % 2) * result_.row_stride + (8 * (pair / 2) + e) * result_.column_stride) = value;
  }
  // Pair 2 j + h.
  __device__ __forceinline__ void store(int j, int h, const T (&value)[2]) const {
    if (stores_pairs_) {
      if (8 * h >= rows_) return;
      char* const row = data_ + (h == 0 ? 0 : 8 * result_.row_stride);
      __stcs(reinterpret_cast<typename short_form::PairOf<T>::type*>(row) + 4 * j, {value[0], value[1]});
      return;
    }
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      if (exists(2 * j + h, e)) store(2 * j + h, e, value[e]);
    }
  }

 private:
  const DeviceResult& result_;
  char* data_;                   // of this lane's first entry
  std::int32_t rows_, columns_;  // from there on
  bool stores_pairs_;
};

// Two entries from their columns; sets is_rare where each has to be looked at by itself. `test`: of their row, where entries are
// certified.
template <class T, class S>
__device__ __forceinline__ void round_pair(T (&value)[2], bool& is_rare, const std::uint32_t (&own)[2][2 * S::Words],
                                           std::int32_t (&scale)[2], const ColumnConstants<S::Words>& constants,
                                           [[maybe_unused]] std::int32_t test) {
  constexpr int Words = S::Words;
  [[maybe_unused]] const std::int32_t first_scale[2] = {scale[0], scale[1]};
  WideInt<Words> x[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const std::uint32_t estimate = column_estimate(own[i], constants);
    is_rare = is_rare || is_uncertain(estimate);
    x[i] = column_integer(own[i], column_quotient(estimate), constants);
  }
  if constexpr (Words > 2) {  // small numbers: one branch for both
    if (has_redundant_word(x[0]) || has_redundant_word(x[1])) {
      scale[0] -= drop_redundant_words(x[0]);
      scale[1] -= drop_redundant_words(x[1]);
    }
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    bool is_unusual = false;
    value[i] = round_leading<T>(x[i], scale[i], is_unusual);
    if constexpr (!std::is_same_v<T, double>) is_rare = is_rare || is_unusual;
    if constexpr (S::Certifies) {
      is_rare = is_rare || short_form::is_doubtful<T>(x[i], scale[i], first_scale[i], {test, false});
    }
  }
}

// The residues of pair `pair`, of those from First to before Last: registers have no index, and code of its own for every pair is
// more than the caches of instructions hold.
using PairResidues = std::uint32_t[2][kMostModuli / 4];
template <int First, int Last>
__device__ __forceinline__ void take_pair(PairResidues& taken, const Residues& residues, int pair) {
  if constexpr (Last - First > 1) {
    constexpr int middle = (First + Last) / 2;
    if (pair < middle) {
      take_pair<First, middle>(taken, residues, pair);
    } else {
      take_pair<middle, Last>(taken, residues, pair);
    }
  } else {
#pragma unroll
    for (int w = 0; w < kMostModuli / 4; ++w) taken[0][w] = residues[2 * First][w], taken[1][w] = residues[2 * First + 1][w];
  }
}

// The entries of the pairs that `rare` names, of this lane, whatever they are; specials come after that. Where entries are
// certified, those that are not are listed.
template <class T, class S>
__device__ __forceinline__ void correct_pairs(const Residues& residues, std::uint32_t rare, const Parameters<S>& p,
                                              const Lines& lines, const std::uint32_t* table, const WarpScales& scales,
                                              const Target<T>& target, [[maybe_unused]] ListedEntries& listed) {
  constexpr int Words = S::Words;
  [[maybe_unused]] const ReconstructJob& job = p.rest.job;
  const auto& constants = *reinterpret_cast<const ColumnConstants<Words>*>(table);
#pragma unroll 1
  for (std::uint32_t rest = __reduce_or_sync(0xffffffffu, rare); rest != 0; rest &= rest - 1) {
    const int pair = __ffs(static_cast<int>(rest)) - 1;
    PairResidues taken;
    take_pair<0, kPairs>(taken, residues, pair);
    std::uint32_t own[2][2 * Words];
    OwnWeights<Words> weights;
    weights.load(table + sizeof constants / 4);
    weights.columns(own, taken[0], taken[1]);
    if (((rare >> pair) & 1u) == 0) continue;
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      if (!target.exists(pair, e)) continue;
      const std::uint32_t row = threadIdx.x % 32 / 4 + 8 * (pair % 2), column = 8 * (pair / 2) + 2 * (threadIdx.x % 4) + e;
      const WideInt<Words> x = exact_column_integer(own[e], constants);
      const std::int32_t exponent = scales.exponent[column] - scales.row_shift[row];
      if constexpr (S::Certifies) {
        const auto entry = certify_entry<T>(p.rest.certification, shift_right(x, constants.shift), exponent + constants.shift,
                                            job.a.record[lines.a + row], job.b.record[lines.b + column], job.a.view.inner);
        target.store(pair, e, entry.value);
        const std::uint32_t flags = flags_of(job.a, lines.a + row) | flags_of(job.b, lines.b + column);
        if (!entry.is_certified && flags == kFinite) listed.add(pair, e);
      } else {
        target.store(pair, e, round_scaled<T>(x, exponent));
      }
    }
  }
}

// Entries of rows and columns that hold NaN or infinities, over what was stored before.
template <class T>
__device__ __forceinline__ void patch_tile(const ReconstructJob& job, const Place& place, const Lines& lines) {
  __syncwarp();
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int rows = min(16, job.result.rows - place.first_row);
  const int columns = min(Config::kN, job.result.columns - place.first_column);
  const auto column_flags = [&](int e) { return flags_of(job.b, lines.b + e); };
#pragma unroll 1
  for (int row = 0; row < rows; ++row) {
    char* const target = job.result.data + lines.result_offset + (place.first_row + row) * job.result.row_stride +
                         place.first_column * job.result.column_stride;
    patch_row<2>(
        job, place, lines, row, flags_of(job.a, lines.a + row), column_flags, columns, [&](int j) { return 2 * lane + j; },
        [&](int e, double value) { *reinterpret_cast<T*>(target + e * job.result.column_stride) = static_cast<T>(value); });
  }
}

// begin_columns of pair 2 j + h, of those of j from First to before Last, and the end of it.
template <int First, int Last>
__device__ __forceinline__ void sum_pair(Sums& sums, const Residues& residues, int j, int h, std::uint32_t weights) {
  if constexpr (Last - First > 1) {
    constexpr int middle = (First + Last) / 2;
    if (j < middle) {
      sum_pair<First, middle>(sums, residues, j, h, weights);
    } else {
      sum_pair<middle, Last>(sums, residues, j, h, weights);
    }
  } else {
    begin_columns(sums, residues[4 * First + 2 * h], residues[4 * First + 2 * h + 1], weights);
    wait_multiply<0>();
    pin(sums);
  }
}

template <class T, class S>
__device__ __forceinline__ void store_results(const Residues& residues, const Parameters<S>& p, const Place& place,
                                              const std::uint32_t* table, const WarpScales& scales, const TileCare& care,
                                              bool is_certain, Sums& sums, std::uint32_t weights) {
  constexpr int Words = S::Words;
  const ReconstructJob& job = p.rest.job;
  const Lines lines(job, place);
  const auto constants = *reinterpret_cast<const ColumnConstants<Words>*>(table);
  std::uint32_t rare = care.pairs;
  const Target<T> target(job, place, lines, p.rest.has_pairs);
  const std::int32_t row_shift[2] = {scales.row_shift[threadIdx.x % 32 / 4], scales.row_shift[threadIdx.x % 32 / 4 + 8]};
  {
    std::int32_t test[2] = {};
    if constexpr (S::Certifies) {
      test[0] = scales.test[threadIdx.x % 32 / 4];
      test[1] = scales.test[threadIdx.x % 32 / 4 + 8];
    }
#pragma unroll 1
    for (int j = 0; j < kPairs / 2; ++j) {
      const int2 column = *reinterpret_cast<const int2*>(&scales.exponent[8 * j + 2 * (threadIdx.x % 4)]);
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        std::int32_t scale[2] = {column.x - row_shift[h], column.y - row_shift[h]};
        std::uint32_t own[2][2 * Words];
        sum_pair<0, kPairs / 2>(sums, residues, j, h, weights);
        end_columns<Words>(own, sums);
        T value[2];
        bool is_rare = false;
        round_pair<T, S>(value, is_rare, own, scale, constants, S::Certifies ? test[h] : short_form::kNoTest);
        if (is_rare) rare |= 1u << (2 * j + h);
        target.store(j, h, value);
      }
    }
  }
  ListedEntries listed;
  if (__any_sync(0xffffffffu, rare != 0)) {
    correct_pairs<T, S>(residues, rare, p, lines, table, scales, target, listed);
    if (care.has_specials) patch_tile<T>(job, place, lines);
  }
  if constexpr (S::Certifies) {
    if (!is_certain) listed.store(p.rest.certification.listed, job, place);
  }
  __syncwarp();  // the scales of the next tile come to the same place
}

}  // namespace ozfp4::cuda::fused_planes
