#include <algorithm>

#include "arith/multiples.hpp"
#include "cuda/dependent_launch.cuh"
#include "cuda/launch.hpp"
#include "cuda/repair/counts.cuh"
#include "cuda/standard/chains.cuh"
#include "cuda/standard/magnitudes.cuh"
#include "cuda/standard/standard.hpp"

namespace ozfp4::cuda {
namespace {

using namespace chaining;

template <class Unit, bool Updates>
__device__ __forceinline__ void repair_by_chains(const Parameters& p) {
  extern __shared__ __align__(128) char memory[];
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  let_next_kernel_start();
  wait_for_previous_kernel();
  RepairCounts& counts = *p.job.listed.counts;
  unsigned long long chains = __ldcg(&counts.listed), open = chains;  // `listed` does not change before all blocks have arrived
  if (chains == 0) {
    if (blockIdx.x == 0 && threadIdx.x == 0) repairing::report_nothing(p.job);
    return;
  }
  if (!p.job.lists_only_chains) {
    if (p.job.magnitudes != nullptr) make_all_planes(shared, p);
    ask_magnitudes<Unit, Updates>(shared, p);
    chains = __ldcg(&counts.chains);
    open = __ldcg(&counts.open);
  }
  if (open != 0) make_chains<Unit, Updates>(shared, p, open);
  __syncthreads();
  if (threadIdx.x == 0 && repairing::arrives_last(counts)) repairing::leave_report(p.job, {chains, 0, 0});
}

template <class Unit, bool Updates>
__global__ void __launch_bounds__(kThreads, 1) chain_kernel(const __grid_constant__ Parameters p) {
  if constexpr (Unit::kIsHere) {
    repair_by_chains<Unit, Updates>(p);
  } else {
    __trap();
  }
}

PlaneParts plane_parts(const DeviceOperand& operand, std::int32_t lines) {
  PlaneParts work;
  work.lines = lines;
  work.groups = static_cast<std::int32_t>(ceil_div(lines, kPartLines));
  work.pieces = static_cast<std::int32_t>(ceil_div(operand.inner, kPieceInner));
  work.all_lines = operand.stack.count() * lines;
  work.all_groups = operand.stack.count() * work.groups;
  work.parts = work.all_groups * work.along();
  return work;
}

template <class Unit>
void launch_unit(LaunchConfig config, const Parameters& p) {
  static_assert(sizeof(PartBytes) <= Unit::kAreaBytes);
  static_assert(!Unit::kIsOfAllGpus || sizeof(Shared) + Unit::kAreaBytes <= 99 * 1024);
  config.shared_bytes = sizeof(Shared) + Unit::kAreaBytes;
  p.job.update.is_asked ? launch(chain_kernel<Unit, true>, config, p) : launch(chain_kernel<Unit, false>, config, p);
}

// Whether the code that runs is Hopper's, with tensor cores that make chains, and was made for it from the beginning.
bool has_tensor_chains() {
  const CodeVersion code = code_version(chain_kernel<TensorCores, false>);
  return code.ptx == 90 && code.binary == 90;
}

}  // namespace

void launch_chains(const ChainJob& job, cudaStream_t stream) {
  Parameters p(job);
  if (job.lists_only_chains) p.job.magnitudes = nullptr;  // no certificate needs them
  p.a_parts = plane_parts(job.a.view, job.result.rows);
  p.b_parts = plane_parts(job.b.view, job.result.columns);
  const std::int64_t processors = current_device(Stage::repair).multiprocessors, blocks = std::min(p.tiles, processors);
  p.most_alone = runs_along_k(job.b.view.outer_stride, job.b.view.inner_stride) ? kMostAloneAlongK : kMostAlone;
  // As many as take no longer than a tile or two. The planes, where their spots go, have been read then.
  const std::int64_t room = (p.a_parts.all_lines + p.b_parts.all_lines) * magnitude_pitch(job.a.view.inner);
  const std::int64_t most = p.job.magnitudes == nullptr ? 0 : 2 * p.most_alone * blocks;
  p.most_spots = static_cast<unsigned long long>(std::min(most, room / std::int64_t(sizeof(Spot))));
  LaunchConfig config(Stage::repair, nullptr, kThreads, stream, job.overlap_previous);
  config.grid = dim3(static_cast<unsigned>(blocks));
  if (job.result.type != ElementType::float64) {
    launch_unit<Cores<float>>(config, p);
  } else if (has_tensor_chains()) {
    launch_unit<TensorCores>(config, p);
  } else {
    launch_unit<Cores<double>>(config, p);
  }
}

}  // namespace ozfp4::cuda
