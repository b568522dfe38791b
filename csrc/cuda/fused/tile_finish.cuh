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
  int row, column;  // of the tile: the first
  int rows, columns;  // that there are
  char* result;

  __device__ __forceinline__ WarpPlace(const TileParameters& p, const Lines& lines, const Place& place, int tile_rows,
                                       int tile_columns) {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    row = kWarpRows * (warp % 4);
    column = kWarpColumns * (warp / 4);
    rows = min(kWarpRows, max(0, tile_rows - row));
    columns = min(kWarpColumns, max(0, tile_columns - column));
    const DeviceResult& to = p.job.result;
    result = to.data + lines.result_offset + (std::int64_t(place.first_row) + row) * to.row_stride +
             (std::int64_t(place.first_column) + column) * to.column_stride;
  }
};

// 2^k x whatever the estimate, as exact_column_integer, from what column_integer made of it.
__device__ __forceinline__ WideInt<kFinishWords> exact_integer(const WideInt<kFinishWords>& x, std::uint32_t estimate,
                                                               const ColumnConstants<kFinishWords>& constants) {
  WideInt<kFinishWords> product, lowest;
#pragma unroll
  for (int i = 0; i < kFinishWords; ++i) {
    product.word[i] = constants.product[i];
    lowest.word[i] = constants.lowest[i];
  }
  const std::uint32_t below = is_uncertain(estimate) ? wide_sign_mask(wide_sub(x, lowest)) : 0u;
  return wide_add(x, wide_masked(product, below));
}

__device__ __forceinline__ void load_residues(std::uint32_t (&x)[kResidueWords], std::uint32_t address) {
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(address)
               : "memory");
}

// Leaves a word of the list, of 32 columns from `column` of the tile on.
__device__ __forceinline__ void list(const Listed& listed, const Place& place, int row, int column, std::uint32_t word) {
  if (listed.word == nullptr) return;
  listed_words(listed, place.matrix, place.first_row + row)[(place.first_column + column) / 32] = word;
  if (word != 0) atomicAdd(&listed.counts->listed, static_cast<unsigned long long>(__popc(word)));
}

// Entries of a row whose integers the moduli may not hold, by dot products of limbs: all lanes work at each of them.
template <class Shared>
__device__ __forceinline__ WideInt<kLimbedWords> dot_of_limbs(const Shared& shared, const Source& a, const Source& b, int row,
                                                              int column, int inner) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const char *x = a.data + row * a.outer_stride, *y = b.data + column * b.outer_stride;
  LimbSums<4> sums;
#pragma unroll 1
  for (int k = lane; k < inner; k += 32) {
    const auto limbs = [&](const char* at, const Source& from, int line) {
      return limbs_of(scaled_wide<3>(*reinterpret_cast<const double*>(at + k * from.inner_stride), shared.line[line].shift));
    };
    sums.add_product(limbs(x, a, row), limbs(y, b, kTile + column));
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

// Results of the warp's entries, from their residues at shared address `residues`. All lanes call it.
template <bool Certifies>
__device__ __forceinline__ void finish(TileShared<Certifies>& shared, const TileParameters& p, const Place& place,
                                       const WarpPlace& warp, std::uint32_t residues, const Source& a, const Source& b) {
  constexpr std::uint32_t all = 0xFFFFFFFFu;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const OwnLine own = shared.line[kTile + warp.column + lane];
  const std::int32_t column_exponent = -own.shift;
  const std::int32_t constant_shift = shared.columns.shift;
  const bool in_columns = lane < warp.columns;
  char* target = warp.result + lane * p.job.result.column_stride;
#pragma unroll 1
  for (int first = 0; first < warp.rows; first += 2) {
    std::uint32_t column[2][kFinishColumns];
    {
      std::uint32_t residue[2][kResidueWords];
#pragma unroll
      for (int i = 0; i < 2; ++i) load_residues(residue[i], residues + residues_at(first + i, lane));
      make_columns(residue[0], residue[1], shared.finish, column[0], column[1]);
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = warp.row + first + i;
      const std::uint32_t estimate = column_estimate(column[i], shared.columns);
      const WideInt<kFinishWords> integer = column_integer(column[i], column_quotient(estimate), shared.columns);
      WideInt<kFinishWords> x = integer;
      const std::int32_t exponent = column_exponent - shared.line[row].shift, first_scale = exponent - constant_shift;
      std::int32_t scale = first_scale;
      if (has_redundant_word(x)) scale -= drop_redundant_words(x);
      bool is_rare = is_uncertain(estimate), is_unusual = false;
      double value = round_leading<double>(x, scale, is_unusual);
      is_rare = is_rare || is_unusual;
      const bool exists = in_columns && first + i < warp.rows;
      if constexpr (!Certifies) {
        if (is_rare) value = round_scaled<double>(exact_integer(integer, estimate, shared.columns), first_scale);
      } else {
        const bool is_long = shared.log_square[row] + shared.log_square[kTile + warp.column + lane] > p.tables.most_log_square;
        is_rare = is_rare || is_long || short_form::is_doubtful<double>(x, scale, first_scale, short_form::RowTest{shared.test[row], false});
        bool is_listed = false;
        if (__any_sync(all, is_rare && exists)) {
          const OwnLine& line = shared.line[row];
          const auto certify_one = [&](const auto& exact, std::int32_t at) {
            const auto entry = certify_entry<double>(p.certification, exact, at, shared.record[row],
                                                     shared.record[kTile + warp.column + lane], p.job.a.view.inner);
            value = entry.value;
            is_listed = exists && !entry.is_certified && (line.special | own.special) == kFinite;
          };
          if (is_rare && !is_long) {
            certify_one(shift_right(exact_integer(integer, estimate, shared.columns), constant_shift), exponent);
          }
#pragma unroll 1
          for (std::uint32_t rest = __ballot_sync(all, is_long && exists); rest != 0; rest &= rest - 1) {
            const int owner = __ffs(static_cast<int>(rest)) - 1;
            const auto exact = dot_of_limbs(shared, a, b, row, warp.column + owner, p.job.a.view.inner);
            if (lane == owner) certify_one(exact, exponent);
          }
        }
        const std::uint32_t word = __ballot_sync(all, is_listed);
        if (lane == 0 && first + i < warp.rows) list(p.certification.listed, place, row, warp.column, word);
      }
      if (exists) *reinterpret_cast<double*>(target) = value;
      target += p.job.result.row_stride;
    }
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
        [&](int e, double value) { *reinterpret_cast<double*>(target + (e - warp.column) * p.job.result.column_stride) = value; });
  }
}

}  // namespace ozfp4::cuda::fused
