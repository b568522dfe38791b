// From the sums of a warp's limbs to results, in the lanes where the sums are.
#pragma once

#include <cstdint>

#include "arith/wide/round_wide.hpp"
#include "cuda/direct/limb_sums.hpp"
#include "cuda/reconstruct/certify/entry.cuh"
#include "cuda/reconstruct/certify/segment.cuh"
#include "cuda/reconstruct/lines.cuh"
#include "cuda/reconstruct/round_fast.hpp"
#include "cuda/tiles/product.cuh"

namespace ozfp4::cuda::tiles {

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

// Entries of a lane in sixteen rows and eight columns: two rows, two columns each.
inline constexpr int kLaneEntries = 4;

template <class K>
struct Finishing {
  TileShared<K>& shared;
  const TileParameters& p;
  const WarpPlace<K>& warp;
  int first;  // column of the warp's
  char* own;  // the result of entry 0

  // Row and column in the warp's part.
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
};

// Results of eight columns of the warp's. All lanes call it.
template <class K>
__device__ __forceinline__ void finish(const Finishing<K>& own, const std::uint32_t (&sum)[kDiagonals<K::Limbs>][4]) {
  WideInt<4> x[kLaneEntries];
  std::int32_t scale[kLaneEntries];
  bool is_redundant = false;
#pragma unroll
  for (int e = 0; e < kLaneEntries; ++e) {
    std::uint32_t diagonal[kDiagonals<K::Limbs>];
#pragma unroll
    for (int d = 0; d < kDiagonals<K::Limbs>; ++d) diagonal[d] = sum[d][e];
    x[e] = integer_of_diagonals<K::Limbs, K::Inner>(diagonal);
    scale[e] = own.exponent(e) - K::MovedBy;
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
#pragma unroll 1
  for (; rare != 0; rare &= rare - 1) {  // what the fast functions do not take
    const int e = __ffs(static_cast<int>(rare)) - 1;
    std::uint32_t diagonal[kDiagonals<K::Limbs>];
#pragma unroll
    for (int d = 0; d < kDiagonals<K::Limbs>; ++d) {
      diagonal[d] = e < 2 ? e == 0 ? sum[d][0] : sum[d][1] : e == 2 ? sum[d][2] : sum[d][3];
    }
    *reinterpret_cast<double*>(own.target(e)) =
        round_scaled<double>(integer_of_diagonals<K::Limbs, K::Inner>(diagonal), own.exponent(e) - K::MovedBy);
  }
}

// Leaves the list of the block's entries that the lines do not certify. All threads call it.
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

}  // namespace ozfp4::cuda::tiles
