// Listed entries that a second product has certified: they are copied from its result. What it leaves, and its zeros, stay on the
// list: of a zero it does not know whether the lines are disjoint, which are counted apart.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cuda/repair/shared.cuh"

namespace ozfp4::cuda::repairing {

inline constexpr int kMergedRows = 8;  // whose values are on their way at a time

__device__ __forceinline__ bool was_made(const LongerResult& longer) {
  return longer.units_used != nullptr && __ldcg(longer.units_used) != 0;
}

// One warp: copies what the second product has of tile number `slot` and takes it off its words, which its lanes have as
// scan_tile leaves them. A lane copies a column of 32, row by row.
template <class T>
__device__ __forceinline__ void merge_tile(Shared& shared, const RepairJob& job, const Tile& tile, int slot) {
  using Bits = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>;
  const LongerResult& longer = job.longer;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const std::int64_t first_row = std::int64_t(tile.matrix) * job.result.rows + tile.first_row;
  char* const result = RepairMatrix(job, tile.matrix).result + tile.first_row * job.result.row_stride +
                       tile.first_column * job.result.column_stride;
#pragma unroll 1
  for (int part = 0; part < 4; ++part) {  // 32 rows and 32 columns: a word of every lane
    const int upper = part / 2 * 32, column = part % 2 * 32 + lane;
    std::uint32_t& own = shared.word[slot][upper + lane][part % 2];
    std::uint32_t asked = own;
    if (asked != 0) {
      asked &=
          ~longer.listed
               .word[tile.matrix * longer.listed.matrix_stride +
                     (std::int64_t(tile.first_row) + upper + lane) * longer.listed.pitch + tile.first_column / 32 + part % 2];
    }
    if (__any_sync(0xffffffffu, asked != 0) == 0) continue;
    const Bits* const value =
        reinterpret_cast<const Bits*>(longer.value) + (first_row + upper) * longer.pitch + tile.first_column + column;
    char* const target = result + upper * job.result.row_stride + column * job.result.column_stride;
    std::uint32_t copied = 0;
#pragma unroll 1
    for (int row = 0; row < 32; row += kMergedRows) {
      Bits x[kMergedRows];
#pragma unroll
      for (int i = 0; i < kMergedRows; ++i) {
        const std::uint32_t word = __shfl_sync(0xffffffffu, asked, row + i);
        x[i] = (word >> lane & 1u) != 0 ? __ldcg(value + (row + i) * longer.pitch) : Bits(0);
      }
#pragma unroll
      for (int i = 0; i < kMergedRows; ++i) {
        const bool is_copied = static_cast<Bits>(x[i] << 1) != 0;  // -0 is zero
        if (is_copied) *reinterpret_cast<Bits*>(target + (row + i) * job.result.row_stride) = x[i];
        const std::uint32_t word = __ballot_sync(0xffffffffu, is_copied);
        copied = lane == row + i ? word : copied;
      }
    }
    own &= ~copied;
  }
}

}  // namespace ozfp4::cuda::repairing
