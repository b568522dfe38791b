#include <algorithm>

#include "arith/accuracy/bound.hpp"
#include "arith/multiples.hpp"
#include "cuda/dependent_launch.cuh"
#include "cuda/launch.hpp"
#include "cuda/repair/counts.cuh"
#include "cuda/repair/dense.cuh"
#include "cuda/repair/disjoint.cuh"
#include "cuda/repair/exact.cuh"
#include "cuda/repair/repair.hpp"
#include "cuda/repair/rounding.cuh"
#include "cuda/repair/sparse.cuh"

namespace ozfp4::cuda {
namespace {

using namespace repairing;

// All threads: what the sparse list or a dense tile left unsettled; leaves nothing so.
template <class R>
__device__ __forceinline__ void finish_unsettled(Shared& shared, const Parameters& p, std::int64_t first) {
  __syncthreads();
  if (shared.unsettled_count == 0) return;
  repair_exactly<R>(shared, p, first);
  __syncthreads();
  if (threadIdx.x == 0) {
    shared.exact_count += shared.unsettled_count;
    shared.unsettled_count = 0;
  }
  __syncthreads();
}

// All threads: the tiles from `first` on, p.group of them or what is left.
template <class R>
__device__ __forceinline__ void repair_group(Shared& shared, const Parameters& p, std::int64_t first) {
  if (threadIdx.x == 0) shared.sparse_count = shared.dense_tiles = 0;
  __syncthreads();
  const int slot = static_cast<int>(threadIdx.x / 32);
  if (slot < p.group && first + slot < p.tiles) {
    const Tile tile(p, first + slot);
    scan_tile(shared, p, tile, slot);
    sort_tile(shared, slot, shared.has_masks ? kMostUnmasked : kMostSparse);
  }
  __syncthreads();
#pragma unroll 1
  for (std::uint32_t rest = shared.dense_tiles; rest != 0; rest &= rest - 1) {
    const int dense = __ffs(static_cast<int>(rest)) - 1;
    repair_disjoint<R>(shared, p, Tile(p, first + dense), dense);
  }
  if (shared.sparse_count != 0) {
    repair_sparse<R>(shared, p, first);
    finish_unsettled<R>(shared, p, first);
  }
#pragma unroll 1
  for (std::uint32_t rest = shared.dense_tiles; rest != 0; rest &= rest - 1) {
    const int dense = __ffs(static_cast<int>(rest)) - 1;
    repair_dense<R>(shared, p, Tile(p, first + dense), dense);
    finish_unsettled<R>(shared, p, first);
  }
  __syncthreads();  // before the counts and the list are another group's
}

// One thread of a block that is done. The last block reports, and leaves the counts zero for the next launch.
__device__ __forceinline__ void arrive(const RepairJob& job, unsigned long long exact, unsigned long long disjoint) {
  RepairCounts& counts = *job.listed.counts;
  if (exact != 0) atomicAdd(&counts.exact, exact);
  if (disjoint != 0) atomicAdd(&counts.disjoint, disjoint);
  if (!arrives_last(counts)) return;
  leave_report(job, {__ldcg(&counts.listed), __ldcg(&counts.exact), __ldcg(&counts.disjoint)});
}

template <class R>
__global__ void __launch_bounds__(kThreads, 1) repair_kernel(const __grid_constant__ Parameters p) {
  extern __shared__ __align__(16) char memory[];
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  let_next_kernel_start();
  wait_for_previous_kernel();
  const unsigned long long listed = __ldcg(&p.job.listed.counts->listed);  // does not change before the last block has arrived
  if (listed == 0) {
    if (blockIdx.x == 0 && threadIdx.x == 0) report_nothing(p.job);
    return;
  }
  if (threadIdx.x == 0) {
    shared.unsettled_count = 0;
    shared.exact_count = shared.disjoint_count = 0;
    shared.has_masks = listed > static_cast<unsigned long long>(p.most_unmasked);
  }
  if (listed > static_cast<unsigned long long>(p.most_unmasked)) make_all_masks(p);
#pragma unroll 1
  for (std::int64_t group = blockIdx.x; group < p.groups; group += gridDim.x) repair_group<R>(shared, p, group * p.group);
  if (threadIdx.x == 0) arrive(p.job, shared.exact_count, shared.disjoint_count);
}

MaskWork mask_work(const DeviceOperand& operand, std::int32_t lines) {
  MaskWork work;
  work.lines = lines;
  work.is_along_k = runs_along_k(operand.outer_stride, operand.inner_stride);
  work.groups = static_cast<std::int32_t>(ceil_div(lines, work.is_along_k ? kPartTurns : 32));
  work.pieces = static_cast<std::int32_t>(ceil_div(operand.inner, work.is_along_k ? kMaskChunk : kMaskUnit));
  work.parts = operand.stack.count() * work.groups * work.pieces;
  return work;
}

}  // namespace

void launch_repair(const RepairJob& job, cudaStream_t stream) {
  const std::int64_t processors = current_device(Stage::repair).multiprocessors;
  Parameters p(job);
  p.group = static_cast<std::int32_t>(std::clamp<std::int64_t>(ceil_div(p.tiles, processors), 1, kMostTiles));
  p.groups = ceil_div(p.tiles, p.group);
  p.a_masks = mask_work(job.a.view, job.result.rows);
  p.b_masks = mask_work(job.b.view, job.result.columns);
  const std::int64_t entries = std::int64_t(job.result.rows) * job.result.columns * job.result.stack.count();
  p.most_unmasked = job.masks.a == nullptr ? entries : entries / kMaskedShare;
  LaunchConfig config(Stage::repair, nullptr, kThreads, stream, job.overlap_previous);
  config.grid = dim3(static_cast<unsigned>(std::min(p.groups, processors)));
  config.shared_bytes = sizeof(Shared);
  const bool is_double = job.result.type == ElementType::float64;
  if (job.update.is_asked) {
    launch(is_double ? repair_kernel<UpdateRounding<double>> : repair_kernel<UpdateRounding<float>>, config, p);
  } else {
    launch(is_double ? repair_kernel<PlainRounding<double>> : repair_kernel<PlainRounding<float>>, config, p);
  }
}

}  // namespace ozfp4::cuda
