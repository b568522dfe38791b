// From the sums of a warp's limbs to results, in the lanes where the sums are.
#pragma once

#include <cstdint>

#include "arith/scale_wide.hpp"
#include "arith/wide/limb_sums.hpp"
#include "arith/wide/round_fast.hpp"
#include "arith/wide/round_wide.hpp"
#include "cuda/fused/tile_product.cuh"
#include "cuda/reconstruct/certify/entry.cuh"
#include "cuda/reconstruct/certify/segment.cuh"
#include "cuda/reconstruct/lines.cuh"

namespace ozfp4::cuda::fused {

// A warp's entries: lines of the block, and where the first one's result is.
template <class K>
struct WarpPlace {
  int row, column;   // of the tile: the first
  int rows_columns;  // that there are, in one register
  char* result;

  __device__ __forceinline__ int rows() const { return rows_columns & 0xFF; }
  __device__ __forceinline__ int columns() const { return rows_columns >> 8; }

  __device__ __forceinline__ WarpPlace(const TileParameters& p, const OwnPlace<K>& own) {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    row = kWarpRows * (warp % K::WarpsAlongRows);
    column = K::WarpColumns * (warp / K::WarpsAlongRows);
    rows_columns = min(kWarpRows, max(0, own.rows - row)) + (min(K::WarpColumns, max(0, own.columns - column)) << 8);
    const DeviceResult& to = p.job.result;
    result = to.data + own.lines.result_offset + (std::int64_t(own.place.first_row) + row) * to.row_stride +
             (std::int64_t(own.place.first_column) + column) * to.column_stride;
  }
};

static_assert(accuracy_bits(Accuracy::correct, 53) <= kLimbedBits<4>, "four limbs hold the integers of every line");

// An entry whose integer the limbs do not hold, by a dot product of longer ones: all lanes work at it.
template <class K>
__device__ __forceinline__ WideInt<kLimbedWords> dot_of_limbs(const TileShared<K>& shared, const Sources& sources, int row,
                                                              int column, int inner) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const auto &a = sources.a, &b = sources.b;
  const char *x = a.data + row * a.outer_stride, *y = b.data + column * b.outer_stride;
  LimbSums<4> sums;
#pragma unroll 1
  for (int k = lane; k < inner; k += 32) {
    const auto limbs = [&](const char* at, const Source& from, int line) {
      return limbs_of(scaled_wide<3>(*reinterpret_cast<const double*>(at + k * from.inner_stride), shared.line[line].shift));
    };
    sums.add_product(limbs(x, a, row), limbs(y, b, K::Rows + column));
  }
  WideInt<kLimbedWords> total = sums.total();
#pragma unroll 1
  for (int apart = 16; apart > 0; apart /= 2) {
    WideInt<kLimbedWords> other;
#pragma unroll
    for (int i = 0; i < kLimbedWords; ++i) other.word[i] = __shfl_xor_sync(0xFFFFFFFFu, total.word[i], apart);
    total = wide_add(total, other);
  }
  return total;
}

// Entries of a lane in sixteen rows and eight columns: two rows, two columns each.
inline constexpr int kLaneEntries = 4;

template <class K>
struct Finishing {
  TileShared<K>& shared;
  const TileParameters& p;
  const WarpPlace<K>& warp;
  int first;  // column of the warp's
  char* own;  // the result of entry 0

  // Of the warp's.
  __device__ __forceinline__ int row(int e) const { return static_cast<int>(threadIdx.x) % 32 / 4 + 8 * (e / 2); }
  __device__ __forceinline__ int column(int e) const { return first + 2 * static_cast<int>(threadIdx.x % 4) + e % 2; }
  // Lines of the block.
  __device__ __forceinline__ int row_line(int e) const { return warp.row + row(e); }
  __device__ __forceinline__ int column_line(int e) const { return K::Rows + warp.column + column(e); }

  __device__ __forceinline__ bool exists(int e) const { return row(e) < warp.rows() && column(e) < warp.columns(); }
  __device__ __forceinline__ char* target(int e) const {
    return own + e / 2 * 8 * p.job.result.row_stride + e % 2 * p.job.result.column_stride;
  }
  __device__ __forceinline__ std::int32_t exponent(int e) const {
    return -shared.line[row_line(e)].shift - shared.line[column_line(e)].shift;
  }
  // Whether the limbs may not hold the integer of an entry.
  __device__ __forceinline__ bool is_long(int e) const {
    // Of a line of zeros and one without a norm it is NaN: their integers are 0.
    if constexpr (K::Certifies) return __fmul_ru(shared.norm[row_line(e)], shared.norm[column_line(e)]) >= K::MostNorms;
    return false;
  }
  __device__ __forceinline__ short_form::RowTest test(int e) const {
    if constexpr (K::Certifies) return {shared.test[row_line(e)], false};
    return {};
  }
};

// An entry that is not what the fast functions take; `x` is its integer. All lanes call it, those with `is_rare` have one.
template <class K>
__device__ __forceinline__ void finish_entry(const Finishing<K>& own, int e, bool is_rare, const WideInt<4>& x) {
  const TileParameters& p = own.p;
  const std::int32_t exponent = own.exponent(e);
  double value;
  if constexpr (!K::Certifies) {
    value = round_scaled<double>(x, exponent - K::MovedBy);
  } else {
    auto integer = wide_resize<kLimbedWords>(shift_right(x, K::MovedBy));
    const int row = own.row_line(e), column = own.column_line(e);
#pragma unroll 1
    for (std::uint32_t rest = __ballot_sync(0xFFFFFFFFu, is_rare && own.is_long(e)); rest != 0; rest &= rest - 1) {
      const int owner = __ffs(static_cast<int>(rest)) - 1;
      const auto long_integer = dot_of_limbs(own.shared, own_sources<K>(p), __shfl_sync(0xFFFFFFFFu, row, owner),
                                             __shfl_sync(0xFFFFFFFFu, column, owner) - K::Rows, p.job.a.view.inner);
      if (static_cast<int>(threadIdx.x) % 32 == owner) integer = long_integer;
    }
    if (!is_rare) return;
    const auto entry = certify_entry<double>(p.certification, integer, exponent, own.shared.record[row],
                                             own.shared.record[column], p.job.a.view.inner);
    value = entry.value;
    if (!entry.is_certified && (own.shared.line[row].special | own.shared.line[column].special) == kFinite) {
      const int listed = column - K::Rows;
      atomicOr(&own.shared.listed[row][listed / 32], 1u << listed % 32);
    }
  }
  if (is_rare) *reinterpret_cast<double*>(own.target(e)) = value;
}

// Results of eight columns of the warp's. All lanes call it.
template <class K>
__device__ __forceinline__ void finish(const Finishing<K>& own, const std::uint32_t (&sum)[kDiagonals<K::Limbs>][4]) {
  WideInt<4> x[kLaneEntries];
  std::int32_t scale[kLaneEntries], first_scale[kLaneEntries];
  bool is_redundant = false;
#pragma unroll
  for (int e = 0; e < kLaneEntries; ++e) {
    std::uint32_t diagonal[kDiagonals<K::Limbs>];
#pragma unroll
    for (int d = 0; d < kDiagonals<K::Limbs>; ++d) diagonal[d] = sum[d][e];
    x[e] = integer_of_diagonals<K::Limbs, K::Inner>(diagonal);
    first_scale[e] = scale[e] = own.exponent(e) - K::MovedBy;
    is_redundant = is_redundant || has_redundant_word(x[e]);
  }
  if (is_redundant) {
#pragma unroll
    for (int e = 0; e < kLaneEntries; ++e) scale[e] -= drop_redundant_words(x[e]);
  }
  double value[kLaneEntries];
  std::uint32_t rare = 0;
#pragma unroll
  for (int e = 0; e < kLaneEntries; ++e) {
    bool is_rare = false;
    value[e] = round_leading<double>(x[e], scale[e], is_rare);
    if constexpr (K::Certifies) {
      is_rare = is_rare || own.is_long(e) || short_form::is_doubtful<double>(x[e], scale[e], first_scale[e], own.test(e));
    }
    rare |= is_rare && own.exists(e) ? 1u << e : 0u;
  }
#pragma unroll
  for (int e = 0; e < kLaneEntries; e += 2) {
    if (own.p.stores_pairs && own.exists(e + 1)) {
      *reinterpret_cast<double2*>(own.target(e)) = {value[e], value[e + 1]};
    } else {
      if (own.exists(e)) *reinterpret_cast<double*>(own.target(e)) = value[e];
      if (own.exists(e + 1)) *reinterpret_cast<double*>(own.target(e + 1)) = value[e + 1];
    }
  }
  if (!__any_sync(0xFFFFFFFFu, rare != 0)) return;
#pragma unroll 1
  for (int e = 0; e < kLaneEntries; ++e) {
    const bool is_rare = (rare >> e & 1u) != 0;
    if (!__any_sync(0xFFFFFFFFu, is_rare)) continue;
    std::uint32_t diagonal[kDiagonals<K::Limbs>];
#pragma unroll
    for (int d = 0; d < kDiagonals<K::Limbs>; ++d) {
      diagonal[d] = e < 2 ? e == 0 ? sum[d][0] : sum[d][1] : e == 2 ? sum[d][2] : sum[d][3];
    }
    finish_entry(own, e, is_rare, integer_of_diagonals<K::Limbs, K::Inner>(diagonal));
  }
}

// Leaves the list of the block's entries that are not certified. All threads call it.
template <class K>
__device__ __forceinline__ void leave_list(const TileShared<K>& shared, const Listed& to, const OwnPlace<K>& own) {
  if constexpr (K::Certifies) {
    __syncthreads();
    constexpr int words = K::Columns / 32;
    const int row = static_cast<int>(threadIdx.x) / words, i = static_cast<int>(threadIdx.x) % words;
    if (to.word == nullptr || row >= own.rows || 32 * i >= own.columns) return;
    const std::uint32_t word = shared.listed[row][i];
    listed_words(to, own.place.matrix, own.place.first_row + row)[own.place.first_column / 32 + i] = word;
    if (word != 0) atomicAdd(&to.counts->listed, static_cast<unsigned long long>(__popc(word)));
  }
}

// The entries of special lines, by the rules of IEEE 754. All lanes of the warp call it that stored its entries.
template <class K>
__device__ __forceinline__ void patch(const TileShared<K>& shared, const TileParameters& p, const OwnPlace<K>& own) {
  const WarpPlace<K> warp(p, own);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::uint32_t row_flags = lane < warp.rows() ? shared.line[warp.row + lane].special : kFinite;
  std::uint32_t flags = row_flags;
  for (int column = lane; column < warp.columns(); column += 32) flags |= shared.line[K::Rows + warp.column + column].special;
  if (!__any_sync(0xFFFFFFFFu, flags != kFinite)) return;
  __syncwarp();  // other lanes stored the entries
#pragma unroll 1
  for (int i = 0; i < warp.rows() * ((warp.columns() + 31) / 32); ++i) {
    const int row = i % warp.rows(), first = warp.column + i / warp.rows() * 32;
    char* target = warp.result + row * p.job.result.row_stride;
    patch_row<1>(
        p.job, own.place, own.lines, warp.row + row, shared.line[warp.row + row].special,
        [&](int e) { return static_cast<std::uint32_t>(shared.line[K::Rows + e].special); },
        min(first + 32, warp.column + warp.columns()), [&](int) { return first + lane; },
        [&](int e, double value) {
          *reinterpret_cast<double*>(target + (e - warp.column) * p.job.result.column_stride) = value;
        });
  }
}

}  // namespace ozfp4::cuda::fused
