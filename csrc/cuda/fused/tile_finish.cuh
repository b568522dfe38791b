// From the residues of a warp's entries to results: every lane takes a column, two rows at a time.
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
struct WarpPlace {
  int row, column;    // of the tile: the first
  int rows, columns;  // that there are
  char* result;

  __device__ __forceinline__ WarpPlace(const TileParameters& p, const Lines& lines, const Place& place, int warps_y,
                                       int tile_rows, int tile_columns) {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    row = kWarpRows * (warp % warps_y);
    column = kWarpColumns * (warp / warps_y);
    rows = min(kWarpRows, max(0, tile_rows - row));
    columns = min(kWarpColumns, max(0, tile_columns - column));
    const DeviceResult& to = p.job.result;
    result = to.data + lines.result_offset + (std::int64_t(place.first_row) + row) * to.row_stride +
             (std::int64_t(place.first_column) + column) * to.column_stride;
  }
};

inline constexpr int kRowsAtOnce = 4;

// Leaves a word of the list, of 32 columns from `column` of the tile on.
__device__ __forceinline__ void list(const Listed& listed, const Place& place, int row, int column, std::uint32_t word) {
  if (listed.word == nullptr) return;
  listed_words(listed, place.matrix, place.first_row + row)[(place.first_column + column) / 32] = word;
  if (word != 0) atomicAdd(&listed.counts->listed, static_cast<unsigned long long>(__popc(word)));
}

// Entries of a row whose integers the moduli may not hold, by dot products of limbs: all lanes work at each of them.
template <class Shared>
__device__ __forceinline__ WideInt<kLimbedWords> dot_of_limbs(const Shared& shared, const Source& a, const Source& b, int row,
                                                              int column, int first_column, int inner) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const char *x = a.data + row * a.outer_stride, *y = b.data + column * b.outer_stride;
  LimbSums<4> sums;
#pragma unroll 1
  for (int k = lane; k < inner; k += 32) {
    const auto limbs = [&](const char* at, const Source& from, int line) {
      return limbs_of(scaled_wide<3>(*reinterpret_cast<const double*>(at + k * from.inner_stride), shared.line[line].shift));
    };
    sums.add_product(limbs(x, a, row), limbs(y, b, first_column + column));
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

// What a lane knows of its column, and of the warp's place.
template <bool Certifies>
struct Finishing {
  TileShared<Certifies>& shared;
  const TileParameters& p;
  const Place& place;
  const WarpPlace& warp;
  std::uint32_t residues;  // shared address
  OwnLine own;             // the column

  __device__ __forceinline__ char* target(int row) const {
    const DeviceResult& result = p.job.result;
    return warp.result + row * result.row_stride + static_cast<int>(threadIdx.x % 32) * result.column_stride;
  }
  __device__ __forceinline__ bool exists(int row) const {
    return static_cast<int>(threadIdx.x % 32) < warp.columns && row < warp.rows;
  }
  // Whether the moduli may not hold the integers of an entry.
  __device__ __forceinline__ bool is_long(int row) const {
    if constexpr (Certifies) {
      const int column = kTile + warp.column + static_cast<int>(threadIdx.x % 32);
      return shared.log_square[warp.row + row] + shared.log_square[column] > p.tables.most_log_square;
    }
    return false;
  }
  __device__ __forceinline__ short_form::RowTest test(int row) const {
    if constexpr (Certifies) return {shared.test[warp.row + row], false};
    return {};
  }
};

// A row of which an entry is not what the fast functions take, entry by entry. `row`: of the warp's. All lanes call it.
template <bool Certifies>
__device__ __forceinline__ void finish_row(const Finishing<Certifies>& own, int row, const Source& a, const Source& b) {
  constexpr std::uint32_t all = 0xFFFFFFFFu;
  const TileParameters& p = own.p;
  const int lane = static_cast<int>(threadIdx.x) % 32, line = own.warp.row + row;
  const bool exists = own.exists(row), is_long = own.is_long(row);
  ResiduePair pair[1];
  std::uint32_t column[2][kFinishColumns];
  load_residues(pair[0], own.residues, row % 8);
  make_columns(pair, own.shared.finish, column);
#pragma unroll
  for (int s = 0; s < kFinishColumns; ++s) column[0][s] = row < 8 ? column[0][s] : column[1][s];
  const WideInt<kFinishWords> exact = exact_column_integer(column[0], p.tables.columns);
  const std::int32_t exponent = -own.own.shift - own.shared.line[line].shift;
  double value;
  if constexpr (!Certifies) {
    value = round_scaled<double>(exact, exponent - p.tables.columns.shift);
  } else {
    const int column_line = kTile + own.warp.column + lane;
    WideInt<kLimbedWords> integer = wide_resize<kLimbedWords>(shift_right(exact, p.tables.columns.shift));
#pragma unroll 1
    for (std::uint32_t rest = __ballot_sync(all, is_long && exists); rest != 0; rest &= rest - 1) {
      const int owner = __ffs(static_cast<int>(rest)) - 1;
      const auto long_integer = dot_of_limbs(own.shared, a, b, line, own.warp.column + owner, kTile, p.job.a.view.inner);
      if (lane == owner) integer = long_integer;
    }
    const auto entry = certify_entry<double>(p.certification, integer, exponent, own.shared.record[line],
                                             own.shared.record[column_line], p.job.a.view.inner);
    value = entry.value;
    const bool is_listed = exists && !entry.is_certified && (own.shared.line[line].special | own.own.special) == kFinite;
    const std::uint32_t word = __ballot_sync(all, is_listed);
    if (lane == 0) list(p.certification.listed, own.place, line, own.warp.column, word);
  }
  if (exists) *reinterpret_cast<double*>(own.target(row)) = value;
}

// Results of the warp's entries. All lanes call it.
template <bool Certifies>
__device__ __forceinline__ void finish(const Finishing<Certifies>& own, const Source& a, const Source& b) {
  constexpr std::uint32_t all = 0xFFFFFFFFu;
  const TileParameters& p = own.p;
  const auto& constants = p.tables.columns;
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll 1
  for (int first = 0; first < min(8, own.warp.rows); first += kRowsAtOnce / 2) {
    const auto row_of = [first](int i) { return first + i / 2 + 8 * (i % 2); };
    std::uint32_t column[kRowsAtOnce][kFinishColumns];
    {
      ResiduePair pair[kRowsAtOnce / 2];
#pragma unroll
      for (int i = 0; i < kRowsAtOnce / 2; ++i) load_residues(pair[i], own.residues, first + i);
      make_columns(pair, own.shared.finish, column);
    }
    WideInt<kFinishWords> x[kRowsAtOnce];
    std::int32_t scale[kRowsAtOnce], first_scale[kRowsAtOnce];
    bool is_rare[kRowsAtOnce], is_redundant = false;
#pragma unroll
    for (int i = 0; i < kRowsAtOnce; ++i) {
      const std::uint32_t estimate = column_estimate(column[i], constants);
      x[i] = column_integer(column[i], column_quotient(estimate), constants);
      first_scale[i] = scale[i] = -own.own.shift - own.shared.line[own.warp.row + row_of(i)].shift - constants.shift;
      is_rare[i] = is_uncertain(estimate);
      is_redundant = is_redundant || has_redundant_word(x[i]);
    }
    if (is_redundant) {
#pragma unroll
      for (int i = 0; i < kRowsAtOnce; ++i) scale[i] -= drop_redundant_words(x[i]);
    }
    std::uint32_t rare_rows = 0;
#pragma unroll
    for (int i = 0; i < kRowsAtOnce; ++i) {
      bool is_unusual = false;
      const double value = round_leading<double>(x[i], scale[i], is_unusual);
      is_rare[i] = is_rare[i] || is_unusual;
      if constexpr (Certifies) {
        is_rare[i] = is_rare[i] || own.is_long(row_of(i)) ||
                     short_form::is_doubtful<double>(x[i], scale[i], first_scale[i], own.test(row_of(i)));
      }
      const bool exists = own.exists(row_of(i));
      if (exists) *reinterpret_cast<double*>(own.target(row_of(i))) = value;
      rare_rows |= __any_sync(all, is_rare[i] && exists) ? 1u << i : 0u;
      if (Certifies && lane == 0 && row_of(i) < own.warp.rows) {
        list(p.certification.listed, own.place, own.warp.row + row_of(i), own.warp.column, 0);
      }
    }
#pragma unroll 1
    for (; rare_rows != 0; rare_rows &= rare_rows - 1) finish_row(own, row_of(__ffs(static_cast<int>(rare_rows)) - 1), a, b);
  }
}

// The entries of special lines, by the rules of IEEE 754. All lanes of the warp call it, who stored its entries.
template <bool Certifies>
__device__ __forceinline__ void patch(const TileShared<Certifies>& shared, const TileParameters& p, const Lines& lines,
                                      const Place& place, const WarpPlace& warp) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::uint32_t column_flags = lane < warp.columns ? shared.line[kTile + warp.column + lane].special : kFinite;
  const std::uint32_t row_flags = lane < warp.rows ? shared.line[warp.row + lane].special : kFinite;
  if (!__any_sync(0xFFFFFFFFu, (column_flags | row_flags) != kFinite)) return;
#pragma unroll 1
  for (int row = 0; row < warp.rows; ++row) {
    char* target = warp.result + row * p.job.result.row_stride;
    patch_row<1>(
        p.job, place, lines, warp.row + row, shared.line[warp.row + row].special,
        [&](int e) { return shared.line[kTile + e].special; }, warp.column + warp.columns,
        [&](int) { return warp.column + lane; },
        [&](int e, double value) {
          *reinterpret_cast<double*>(target + (e - warp.column) * p.job.result.column_stride) = value;
        });
  }
}

}  // namespace ozfp4::cuda::fused
