// The tile scheduler of the sm_100 kernels: CUTLASS's, over the matrices of a pass, with a K loop per matrix.
#pragma once

#include <cutlass/gemm/kernel/tile_scheduler.hpp>

#include "cuda/dependent_launch.cuh"
#include "cuda/multiply/tcgen05/collective/walk.cuh"
#include "cuda/multiply/tcgen05/pass.hpp"

namespace ozfp4::cuda::tcgen05 {

// kTileBlocks: K blocks that the main loop takes at a time.
template <int kBlockEntries, int kTileBlocks, class ClusterShape, std::uint32_t kStages>
class PassScheduler : public cutlass::gemm::kernel::detail::PersistentTileSchedulerSm100<ClusterShape, kStages> {
  using Base = cutlass::gemm::kernel::detail::PersistentTileSchedulerSm100<ClusterShape, kStages>;

 public:
  struct WorkTileInfo : Base::WorkTileInfo {
    std::int32_t k_tiles = 0;
  };
  struct Arguments : Base::Arguments {
    const Pass* pass = nullptr;
  };
  struct Params : Base::Params {
    Pass pass;
  };

  // ---- Host ----

  template <class Problem, class TileShape, class Atom, class Cluster>
  static Params to_underlying_arguments(const Problem& problem, TileShape tile, Atom atom, Cluster cluster,
                                        const cutlass::KernelHardwareInfo& hardware, const Arguments& arguments,
                                        void* workspace = nullptr) {
    const typename Base::Arguments& base = arguments;
    return {Base::to_underlying_arguments(of_pass(problem, *arguments.pass), tile, atom, cluster, hardware, base, workspace),
            *arguments.pass};
  }

  template <class Problem, class TileShape, class Atom, class Cluster>
  static dim3 get_grid_shape(const Params& params, const Problem& problem, TileShape tile, Atom atom, Cluster cluster,
                             const cutlass::KernelHardwareInfo& hardware) {
    return Base::get_grid_shape(params, of_pass(problem, params.pass), tile, atom, cluster, hardware);
  }

  // ---- Device ----

  __device__ __forceinline__ PassScheduler(typename Base::CLCResponse* response, const Params& params, dim3 block_in_cluster)
      : Base(response, params, block_in_cluster), pass_(params.pass) {}

  // Every warp calls this function first. The number of units in use is known once the previous kernel has ended.
  template <class Cluster>
  __device__ __forceinline__ WorkTileInfo initial_work_tile_info(Cluster cluster) {
    wait_for_previous_kernel();
    return completed(Base::initial_work_tile_info(cluster));
  }

  template <class Pipeline, class State>
  __device__ __forceinline__ auto fetch_next_work(const WorkTileInfo& tile, Pipeline& pipeline, State state) {
    const auto [next, advances] = Base::fetch_next_work(tile, pipeline, state);
    return cute::make_tuple(completed(next), advances);
  }

  template <class Problem, class TileShape, class Count>
  __device__ __forceinline__ BlockIterator get_k_tile_iterator(const WorkTileInfo&, Problem, TileShape, Count) {
    return {};
  }

  template <class Problem, class TileShape>
  __device__ __forceinline__ static int get_work_k_tile_count(const WorkTileInfo& tile, Problem, TileShape) {
    return tile.k_tiles;
  }

 private:
  template <class Problem>
  static auto of_pass(const Problem& problem, const Pass& pass) {
    return cute::make_shape(cute::get<0>(problem), cute::get<1>(problem), cute::get<2>(problem), pass.matrix_count);
  }

  // Numbers the matrix as the output has it, and adds the length of its K loop.
  __device__ __forceinline__ WorkTileInfo completed(const typename Base::WorkTileInfo& tile) const {
    WorkTileInfo result = {tile, 0};
    if (!tile.is_valid()) return result;
    result.L_idx = matrix_number(pass_, tile.L_idx);
    const std::int32_t blocks = count_blocks<kBlockEntries>(pass_, output_matrix(pass_, result.L_idx), count_units(pass_));
    result.k_tiles = (blocks + kTileBlocks - 1) / kTileBlocks;
    return result;
  }

  const Pass& pass_;
};

// Names PassScheduler to CUTLASS's kernel.
template <int kBlockEntries, int kTileBlocks>
struct PassSchedule {};

}  // namespace ozfp4::cuda::tcgen05

namespace cutlass::gemm::kernel::detail {

template <int kBlockEntries, int kTileBlocks, class TileShape, class ClusterShape, std::uint32_t kStages>
struct TileSchedulerSelector<ozfp4::cuda::tcgen05::PassSchedule<kBlockEntries, kTileBlocks>, arch::Sm100, TileShape, ClusterShape,
                             kStages> {
  using Scheduler = ozfp4::cuda::tcgen05::PassScheduler<kBlockEntries, kTileBlocks, ClusterShape, kStages>;
};

template <int kBlockEntries, int kTileBlocks, class TileShape, class ClusterShape, std::uint32_t kStages>
struct TileSchedulerSelector<ozfp4::cuda::tcgen05::PassSchedule<kBlockEntries, kTileBlocks>, arch::Sm103, TileShape, ClusterShape,
                             kStages> {
  using Scheduler = ozfp4::cuda::tcgen05::PassScheduler<kBlockEntries, kTileBlocks, ClusterShape, kStages>;
};

}  // namespace cutlass::gemm::kernel::detail
