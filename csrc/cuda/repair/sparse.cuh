// Listed entries that are few: a warp each.
#pragma once

#include <cstdint>

#include "cuda/repair/rounding.cuh"
#include "cuda/repair/shared.cuh"

namespace ozfp4::cuda::repairing {

inline constexpr int kAhead = 16;  // entries that a lane loads before it adds their products

// The entries [begin, end) of the dot product of two lines, in every lane.
__device__ __forceinline__ SparsePart dot_of_lines(const RepairMatrix& matrix, const RepairLine& a, const RepairLine& b,
                                                   std::int64_t begin, std::int64_t end) {
  SparsePart sum;
  DoubleDot& dot = sum.dot;
#pragma unroll 1
  for (std::int64_t first = begin + static_cast<std::int32_t>(threadIdx.x % 32); first < end; first += 32 * kAhead) {
    double x[kAhead], y[kAhead];
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const bool is_inside = first + 32 * i < end;
      x[i] = is_inside ? matrix.a.entry(a.data, first + 32 * i) : 0.0;
      y[i] = is_inside ? matrix.b.entry(b.data, first + 32 * i) : 0.0;
    }
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      sum.meets = sum.meets || (x[i] != 0.0 && y[i] != 0.0);
      add_product(dot, take_entry(x[i], a.first, a.second, sum.is_safe), take_entry(y[i], b.first, b.second, sum.is_safe));
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
  sum.is_safe = __all_sync(0xffffffffu, sum.is_safe);
  sum.meets = __any_sync(0xffffffffu, sum.meets);
  return sum;
}

// A listed entry: its place in the result and its lines.
struct SparseEntry {
  Entry entry;
  RepairMatrix matrix;
  RepairLine a, b;

  __device__ __forceinline__ SparseEntry(const Parameters& p, std::int64_t first, Spot spot)
      : entry(entry_of(p, first, spot)),
        matrix(p.job, entry.matrix),
        a(matrix.a.line(entry.row)),
        b(matrix.b.line(entry.column)) {}
};

// One thread: an entry's result, or its place among the unsettled ones.
template <class R>
__device__ __forceinline__ void repair_sparse(Shared& shared, const RepairJob& job, const SparseEntry& own, Spot spot,
                                              const SparsePart& sum) {
  if (!sum.meets) {
    store_entry(job, own.matrix, own.entry, R::of_zero(job, own.entry));
    atomicAdd(&shared.disjoint_count, 1ull);
  } else {
    settle_entry<R>(shared, job, own.matrix, own.entry, sum.dot, dot_bound(sum.dot, job.a.view.inner, sum.is_safe),
                    -(own.a.shift + own.b.shift), spot);
  }
}

// All warps: the sparse list of a group with the first tile `first`, a warp each. Lists shorter than that there is a warp for
// every entry are cut along K: 2^n warps an entry, which then lie behind each other.
template <class R>
__device__ __forceinline__ void repair_sparse(Shared& shared, const Parameters& p, std::int64_t first) {
  const RepairJob& job = p.job;
  const std::uint32_t count = shared.sparse_count, warp = threadIdx.x / 32;
  const bool is_first_lane = threadIdx.x % 32 == 0;
  const int log_parts = count > kWarps / 2 ? 0 : __ffs(kWarps) - 1 - (count > 1 ? 32 - __clz(static_cast<int>(count - 1)) : 0);
  const std::int64_t part = ((job.a.view.inner >> log_parts) + 32) / 32 * 32;
#pragma unroll 1
  for (std::uint32_t i = warp; i < count << log_parts; i += kWarps) {
    const Spot spot = shared.sparse[i >> log_parts];
    const SparseEntry entry(p, first, spot);
    const std::int64_t begin = (i & ((1u << log_parts) - 1)) * part;
    const SparsePart sum = dot_of_lines(entry.matrix, entry.a, entry.b, begin, min(begin + part, std::int64_t(job.a.view.inner)));
    if (!is_first_lane) continue;
    if (log_parts == 0) {
      repair_sparse<R>(shared, job, entry, spot, sum);
    } else {
      shared.part[warp] = sum;
    }
  }
  if (log_parts == 0) return;
  __syncthreads();
  if (warp >= count || !is_first_lane) return;
  SparsePart sum = shared.part[warp << log_parts];
#pragma unroll 1
  for (std::uint32_t i = 1; i < 1u << log_parts; ++i) {
    const SparsePart other = shared.part[(warp << log_parts) + i];
    sum = {merge(sum.dot, other.dot), sum.is_safe && other.is_safe, sum.meets || other.meets};
  }
  const Spot spot = shared.sparse[warp];
  repair_sparse<R>(shared, job, SparseEntry(p, first, spot), spot, sum);
}

}  // namespace ozfp4::cuda::repairing
