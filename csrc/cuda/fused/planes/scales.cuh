// What a warp knows of the rows and columns of its tile: read before the first product, needed behind the last.
#pragma once

#include <cstdint>
#include <type_traits>

#include "arith/wide/round_fast.hpp"
#include "cuda/fused/planes/shape.cuh"
#include "cuda/reconstruct/lines.cuh"

namespace ozfp4::cuda::fused_planes {

// Which pairs of a lane's entries have to be looked at one by one, bit 2 j + h for columns 8 j + 2 t and the next of row g + 8 h:
// those of rows and columns with special entries, or with exponents that could make a result neither normal nor 0 (float32 is
// asked entry by entry). And whether any row or column of the warp's is special.
struct TileCare {
  std::uint32_t pairs;
  bool has_specials;
};
inline constexpr std::uint32_t kPairsOfFirstRow = 0x5555;

// A lane has entries in rows g and g + 8 and, of each 8 columns, 2 t and 2 t + 1; it looks after columns 2 lane and 2 lane + 1.
struct TileScales {
  std::int32_t row_shift[2], column_shift[2];
  std::uint32_t row_flags[2], column_flags;

  __device__ __forceinline__ void load(const ReconstructJob& job, const Place& place, const Lines& lines) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    column_flags = 0;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      // Beyond the last row and column these are those of the last one.
      const std::int64_t row = lines.a + min(lane / 4 + 8 * i, job.result.rows - 1 - place.first_row);
      const std::int64_t column = lines.b + min(2 * lane + i, job.result.columns - 1 - place.first_column);
      row_shift[i] = job.a.shift[row];
      row_flags[i] = flags_of(job.a, row);
      column_shift[i] = job.b.shift[column];
      column_flags |= flags_of(job.b, column);
    }
  }

  // Leaves exponents and shifts to the warp. All its lanes call it.
  template <class T, int Words>
  __device__ __forceinline__ TileCare share(WarpScales& shared, std::int32_t constant_shift) const {
    constexpr std::uint32_t all_lanes = 0xffffffffu;
    const int lane = static_cast<int>(threadIdx.x % 32);
    const std::int32_t own[2] = {-constant_shift - column_shift[0], -constant_shift - column_shift[1]};
    *reinterpret_cast<int2*>(&shared.exponent[2 * lane]) = {own[0], own[1]};
    if (lane % 4 == 0) shared.row_shift[lane / 4] = row_shift[0], shared.row_shift[lane / 4 + 8] = row_shift[1];
    const std::int32_t least_shift = __reduce_max_sync(all_lanes, max(own[0], own[1]) - kMostSafeExponent<T, Words>);
    const std::int32_t most_shift = __reduce_min_sync(all_lanes, min(own[0], own[1]) - kLeastSafeExponent<T, Words>);
    const bool has_special_columns = __any_sync(all_lanes, column_flags != kFinite);
    TileCare care{0, has_special_columns || __any_sync(all_lanes, (row_flags[0] | row_flags[1]) != kFinite)};
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      bool is_asked = has_special_columns || row_flags[h] != kFinite;
      if constexpr (std::is_same_v<T, double>) {
        is_asked = is_asked || row_shift[h] < least_shift || row_shift[h] > most_shift;
      }
      if (is_asked) care.pairs |= h == 0 ? kPairsOfFirstRow : kPairsOfFirstRow << 1;
    }
    __syncwarp();
    return care;
  }
};

}  // namespace ozfp4::cuda::fused_planes
