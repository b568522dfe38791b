// Listed entries that are few: a warp each.
#pragma once

#include <cstdint>

#include "arith/exact/settle.hpp"
#include "cuda/repair/shared.cuh"

namespace ozfp4::cuda::repairing {

inline constexpr int kAhead = 4;  // entries that a lane loads before it adds their products

// The dot product of two lines, in every lane; is_safe as for dot_bound.
__device__ __forceinline__ DoubleDot dot_of_lines(const RepairMatrix& matrix, const RepairLine& a, const RepairLine& b,
                                                  std::int32_t inner, bool& is_safe) {
  const auto lane = static_cast<std::int32_t>(threadIdx.x % 32);
  DoubleDot dot;
#pragma unroll 1
  for (std::int64_t first = lane; first < inner; first += 32 * kAhead) {
    double x[kAhead], y[kAhead];
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const bool is_inside = first + 32 * i < inner;
      x[i] = is_inside ? matrix.a.entry(a.data, first + 32 * i) : 0.0;
      y[i] = is_inside ? matrix.b.entry(b.data, first + 32 * i) : 0.0;
    }
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      add_product(dot, take_entry(x[i], a.first, a.second, is_safe), take_entry(y[i], b.first, b.second, is_safe));
    }
  }
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) {
    DoubleDot other;
    other.high = __shfl_xor_sync(0xffffffffu, dot.high, apart);
    other.low = __shfl_xor_sync(0xffffffffu, dot.low, apart);
    other.slack = __shfl_xor_sync(0xffffffffu, dot.slack, apart);
    dot = merge(dot, other);
  }
  is_safe = __all_sync(0xffffffffu, is_safe);
  return dot;
}

// All warps: the sparse list of a group whose first tile is `first`.
template <class T>
__device__ __forceinline__ void repair_sparse(Shared& shared, const Parameters& p, std::int64_t first) {
  const RepairJob& job = p.job;
#pragma unroll 1
  for (std::uint32_t i = threadIdx.x / 32; i < shared.sparse_count; i += kWarps) {
    const Spot spot = shared.sparse[i];
    const Tile tile(p, first + (spot >> 12));
    const std::int64_t row = tile.first_row + ((spot >> 6) & 63), column = tile.first_column + (spot & 63);
    const RepairMatrix matrix(job, tile.matrix);
    const RepairLine a = matrix.a.line(row), b = matrix.b.line(column);
    bool is_safe = true;
    const DoubleDot dot = dot_of_lines(matrix, a, b, job.a.view.inner, is_safe);
    if (threadIdx.x % 32 != 0) continue;
    T value;
    if (settle(dot, dot_bound(dot, job.a.view.inner, is_safe), -(a.shift + b.shift), job.rounding, value)) {
      store_entry(job, matrix, row, column, value);
    } else {
      shared.unsettled[atomicAdd(&shared.unsettled_count, 1u)] = spot;
    }
  }
}

}  // namespace ozfp4::cuda::repairing
