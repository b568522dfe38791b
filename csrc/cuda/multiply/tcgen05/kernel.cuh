// One kernel of the sm_100 family: collectives put together, and its launch. Two multiprocessors of a cluster compute a tile
// of 256 x 256 together, in blocks of 128 bytes along K.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/kernel/gemm_universal.hpp>

#include "arith/multiples.hpp"
#include "cuda/multiply/launch.hpp"
#include "cuda/multiply/tcgen05/collective/epilogue.cuh"
#include "cuda/multiply/tcgen05/collective/scheduler.cuh"
#include "cuda/multiply/tcgen05/pass.hpp"

namespace ozfp4::cuda::tcgen05 {

// Element_: as CUTLASS names it; Class: its operator class; Mainloop: Fp4Mainloop, Fp4Mainloop96 or ByteMainloop; kEntries:
// of a block along K; kTileEntries: of what the main loop multiplies at a time.
template <class Arch, class Element_, class Accumulator, class Class, class Schedule, template <class, int> class Mainloop,
          int kEntries, int kTileEntries = kEntries>
struct Config {
  static constexpr int kAlignment = kEntries / 8;  // 16 bytes
  using TileShape = cute::Shape<cute::Int<kTile>, cute::Int<kTile>, cute::Int<kTileEntries>>;
  // Columns that leave tensor memory at a time. The fewer, the sooner the next tile's sums may take their place, and the less
  // shared memory is lost to staging.
  using EpilogueTile = cute::Shape<cute::_128, cute::_64>;
  using ClusterShape = cute::Shape<cute::_2, cute::_1, cute::_1>;
  using Rows = cutlass::layout::RowMajor;
  using Columns = cutlass::layout::ColumnMajor;

  using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
      Arch, Class, TileShape, ClusterShape, EpilogueTile, Accumulator, Accumulator, std::uint8_t, Rows, 16, std::uint8_t, Rows,
      16, cutlass::epilogue::TmaWarpSpecialized2Sm, ResidueTree>::CollectiveOp;
  using Collective = typename cutlass::gemm::collective::CollectiveBuilder<
      Arch, Class, Element_, Rows, kAlignment, Element_, Columns, kAlignment, Accumulator, TileShape, ClusterShape,
      cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(sizeof(typename Epilogue::SharedStorage))>,
      Schedule>::CollectiveOp;
  using Kernel = cutlass::gemm::kernel::GemmUniversal<cute::Shape<int, int, int, int>, Mainloop<Collective, kEntries>, Epilogue,
                                                      PassSchedule<kEntries, kTileEntries / kEntries>>;
};

// Strides of a K-contiguous operand in entries.
template <class Stride>
Stride operand_stride(const PlaneArray& operand, Element element) {
  const std::int64_t matrix = operand.batches > 1 ? operand.batch_stride : operand.plane_stride;
  return {operand.pitch * entries_per_byte(element), cute::Int<1>{}, matrix * entries_per_byte(element)};
}

// CUTLASS prints that the driver has refused a tensor map, and goes on with zeros.
template <class... Copies>
void require_maps(const LaunchConfig& config, const Copies&... copies) {
  static constexpr cute::TmaDescriptor none{};
  if (((std::memcmp(copies.get_tma_descriptor(), &none, sizeof(none)) == 0) || ...)) {
    throw LaunchError(config.stage, cudaErrorInvalidValue, "a tensor map");
  }
}
template <class Params>
auto require_scale_maps(const LaunchConfig& config, const Params& params, int)
    -> decltype(require_maps(config, params.tma_load_sfa, params.tma_load_sfb)) {
  require_maps(config, params.tma_load_sfa, params.tma_load_sfb);
}
template <class Params>
void require_scale_maps(const LaunchConfig&, const Params&, long) {}  // of bytes, which have no scales

// CUTLASS's own check. It wants whole pieces of 16 bytes along rows of the result, which are padded to them.
template <class Kernel>
void require_implemented(typename Kernel::Arguments arguments, const LaunchConfig& config) {
  int& columns = cute::get<1>(arguments.problem_shape);
  columns = static_cast<int>(round_up(columns, 16));
  if (!Kernel::can_implement(arguments)) throw LaunchError(config.stage, cudaErrorInvalidValue, config.detail);
}

template <class Kernel>
void launch_kernel(const typename Kernel::Arguments& arguments, LaunchConfig config) {
  static_assert(Kernel::SharedStorageSize <= 232448, "a block of sm_100 has 227 KB of shared memory");
  const typename Kernel::Params params = Kernel::to_underlying_arguments(arguments, nullptr);
  require_maps(config, params.mainloop.tma_load_a, params.mainloop.tma_load_b, params.epilogue.tma_load_c,
               params.epilogue.tma_store_d);
  require_scale_maps(config, params.mainloop, 0);
  config.grid = Kernel::get_grid_shape(params);
  config.block = Kernel::get_block_shape();
  config.shared_bytes = Kernel::SharedStorageSize;
  config.cluster_blocks = cute::size<0>(typename Kernel::ClusterShape{});
  cuda::launch(cutlass::device_kernel<Kernel>, config, params);
}

// All passes of a problem. `complete` adds what the kind of operands needs to the arguments of the main loop.
// Precondition: a problem without an error (find_problem_error, find_pass_error) of the config's elements.
template <class Config, class Complete>
void launch_passes(const KernelRow& row, const GemmProblem& problem, const TileChoice& choice, cudaStream_t stream,
                   const Complete& complete) {
  using Kernel = typename Config::Kernel;
  LaunchConfig config(Stage::multiply, row.name, 0, stream);
  typename Kernel::Arguments arguments;
  const int matrices = problem.out_planes * choice.splits * problem.batch.count();
  // An odd number of codes ends in half a byte, which is zero: TMA counts whole bytes.
  const int whole = entries_per_byte(problem.element);
  arguments.mode = cutlass::gemm::GemmUniversalMode::kGemm;
  arguments.problem_shape = {problem.m, problem.n, static_cast<int>(ceil_div(problem.k, whole)) * whole, matrices};

  Pass pass;
  auto& mainloop = arguments.mainloop;
  mainloop.pass = &pass;
  mainloop.ptr_A = static_cast<decltype(mainloop.ptr_A)>(problem.a.data);
  mainloop.dA = operand_stride<typename Kernel::StrideA>(problem.a, problem.element);
  mainloop.ptr_B = static_cast<decltype(mainloop.ptr_B)>(problem.b.data);
  mainloop.dB = operand_stride<typename Kernel::StrideB>(problem.b, problem.element);
  complete(mainloop);

  auto& epilogue = arguments.epilogue;
  epilogue.ptr_D = static_cast<std::uint8_t*>(problem.out);
  epilogue.dD = {problem.out_pitch, cute::Int<1>{}, problem.out_matrix_stride};
  epilogue.ptr_C = epilogue.ptr_D;  // a tile is read before it is written, by the same block
  epilogue.dC = epilogue.dD;
  arguments.scheduler.pass = &pass;
  arguments.scheduler.max_swizzle_size = 8;  // tiles in bands, so that a wave shares operands in L2
  lay_out_grid(problem.n, arguments.scheduler);
  require_implemented<Kernel>(arguments, config);

  const int passes = count_passes(problem);
  for (int index = 0; index < passes; ++index) {
    make_pass(problem, choice.splits, index, &pass, &epilogue.thread.op_2);
    const auto last_plane = [](const PlaneArray& operand, std::int32_t step) {
      return (operand.planes - 1) * step + operand.batches;
    };
    mainloop.matrices = std::max(last_plane(problem.a, pass.a_plane_step), last_plane(problem.b, pass.b_plane_step));
    epilogue.thread.op_1.exists = index > 0;
    for (const int all = pass.matrix_count; pass.first_matrix < all; pass.first_matrix += kMaxLaunchMatrices) {
      pass.matrix_count = std::min(all - pass.first_matrix, kMaxLaunchMatrices);
      config.overlap_previous = index > 0 || pass.first_matrix > 0 || choice.overlap_previous;
      launch_kernel<Kernel>(arguments, config);
    }
  }
}

}  // namespace ozfp4::cuda::tcgen05
