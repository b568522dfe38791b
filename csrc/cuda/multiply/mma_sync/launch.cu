// The warp-level kernels on the host: parameters, tensor maps, grid. Variants are in mma_sync/variants.cuh.
#include <algorithm>
#include <cstdint>

#include "cuda/launch.hpp"
#include "cuda/multiply/check.hpp"
#include "cuda/multiply/mma_sync/config.cuh"
#include "cuda/multiply/mma_sync/launch.hpp"
#include "cuda/multiply/mma_sync/shapes.hpp"
#include "cuda/multiply/mma_sync/variants.hpp"
#include "cuda/multiply/ptx/tensor_map.cuh"

namespace ozfp4::cuda::warp {
namespace {

PlaneView view_of(const PlaneArray& operand, int rows) {
  return {static_cast<const std::uint8_t*>(operand.data), operand.pitch, batch_stride(operand, rows), plane_stride(operand, rows),
          rows};
}

void run(const WarpParams& params, TileShape shape, const LaunchConfig& how, Kernel kernel, Element element) {
  switch (kernel) {
    case Kernel::warp_copy: return launch_bytes_copy(params, shape, how, is_signed(element));
#ifndef OZFP4_NO_WARP_BULK
    case Kernel::warp_bulk: return launch_bytes_bulk(params, shape, how, is_signed(element));
#endif
#ifndef OZFP4_NO_WARP_FP4
    case Kernel::warp_fp4: return launch_fp4(params, shape, how);
#endif
#ifndef OZFP4_NO_STAND_IN_COPY
    case Kernel::stand_in_copy: return launch_stand_in_copy(params, shape, how);
#endif
#ifndef OZFP4_NO_STAND_IN_BULK
    case Kernel::stand_in_bulk: return launch_stand_in_bulk(params, shape, how);
#endif
    default: throw LaunchError(Stage::multiply, cudaErrorNoKernelImageForDevice, how.detail);
  }
}

}  // namespace

void launch(const GemmProblem& problem, const TileChoice& choice, Kernel kernel, cudaStream_t stream) {
  const WarpShape& tile = kShapes[static_cast<int>(choice.shape)];
  const int batches = batch_count(problem.batch), block = block_entries(problem.element);
  const auto m_tiles = static_cast<std::uint32_t>(ceil_div(problem.m, tile.m));
  const auto n_tiles = static_cast<std::uint32_t>(ceil_div(problem.n, tile.n));
  const auto matrices = static_cast<std::uint32_t>(batches * choice.splits);
  const std::int64_t bytes = row_bytes(problem.element, problem.k);

  WarpParams params = {};
  if (kernel != Kernel::warp_copy && kernel != Kernel::stand_in_copy) {
    sm90::encode_plane_map(&params.a_map, problem.a, problem.m, bytes, tile.m, tile.row_bytes);
    sm90::encode_plane_map(&params.b_map, problem.b, problem.n, bytes, tile.n, tile.row_bytes);
  }
  params.a = view_of(problem.a, problem.m);
  params.b = view_of(problem.b, problem.n);
  params.order = make_tile_order(m_tiles, n_tiles, matrices, static_cast<std::uint32_t>(choice.band));
  params.batches = make_divisor(static_cast<std::uint32_t>(batches));
  params.batch = problem.batch;
  params.m = problem.m;
  params.n = problem.n;
  params.k_bytes = static_cast<std::int32_t>(bytes);
  params.blocks_per_split = static_cast<std::int32_t>(ceil_div(ceil_div(problem.k, block), choice.splits));
  if (stores_words(problem)) {
    params.out_int32 = static_cast<std::int32_t*>(problem.out);
  } else {
    params.out_bytes = static_cast<std::uint8_t*>(problem.out);
  }
  params.out_pitch = problem.out_pitch;
  params.out_matrix_stride = problem.out_matrix_stride;
  params.out_matrices = matrices;
  params.unit_count = problem.unit_count;
  params.units_used = problem.units_used;
  params.device_steps = problem.device_steps;
  std::copy_n(problem.unit_begin, problem.unit_count + 1, params.unit_begin);
  if (problem.device_steps == nullptr) std::copy_n(problem.steps, problem.unit_begin[problem.unit_count], params.steps);

  const std::int64_t tiles = std::int64_t(m_tiles) * n_tiles * matrices * problem.unit_count;
  const int most = current_device(Stage::multiply).multiprocessors * tile.blocks;
  const int limit = choice.max_blocks > 0 ? std::min(choice.max_blocks, most) : most;
  LaunchConfig how;
  how.stage = Stage::multiply;
  how.detail = kernel_name(kernel);
  how.grid = dim3(static_cast<unsigned>(std::min<std::int64_t>(tiles, limit)));
  how.overlap_previous = choice.overlap_previous;
  how.stream = stream;
  run(params, choice.shape, how, kernel, problem.element);
}

}  // namespace ozfp4::cuda::warp
