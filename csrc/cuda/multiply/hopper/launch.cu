// Hopper multiply: variants, launcher. The kernel is in hopper/kernel.cuh.
#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "cuda/launch.hpp"
#include "cuda/multiply/check.hpp"
#include "cuda/multiply/contract.hpp"
#include "cuda/multiply/hopper/config.cuh"
#include "cuda/multiply/hopper/cost.cuh"
#include "cuda/multiply/hopper/kernel.cuh"
#include "cuda/multiply/ptx/tensor_map.cuh"

namespace ozfp4::cuda {
namespace {

// ---- Launch --------------------------------------------------------------------------------------------------------

template <class C>
void launch_variant(const sm90::GemmParams& params, const LaunchConfig& how) {
  LaunchConfig config = how;
  config.block = dim3(C::kThreads);
  config.shared_bytes = C::kSharedBytes;
  launch(sm90::gemm_kernel<C>, config, params);
}

int next_wave_slot() {
  static std::atomic<unsigned> next{0};
  return static_cast<int>(next.fetch_add(1, std::memory_order_relaxed) % sm90::kWaveSlots);
}

using Launcher = void (*)(const sm90::GemmParams&, const LaunchConfig&);

// Variants in the order of TileShape.
template <bool kSigned>
Launcher find_launcher(TileShape shape) {
  using sm90::Config;
  static constexpr Launcher launchers[kTileShapes] = {
      launch_variant<Config<128, 256, kSigned>>, launch_variant<Config<128, 128, kSigned>>,
      launch_variant<Config<128, 64, kSigned>>,  launch_variant<Config<64, 256, kSigned>>,
      launch_variant<Config<64, 128, kSigned>>,  launch_variant<Config<64, 64, kSigned>>};
  return launchers[static_cast<int>(shape)];
}

}  // namespace

TileChoice choose_tile(const GemmShape& shape, int multiprocessors) { return sm90::choose(shape, multiprocessors); }

double predict_clocks(const GemmShape& shape, const TileChoice& choice, int multiprocessors) {
  return sm90::model_clocks(shape, choice, multiprocessors);
}

void launch_gemm(const GemmProblem& problem, const TileChoice& choice, cudaStream_t stream) {
  if (problem.unit_count == 0) return;
  const int multiprocessors = current_device(Stage::multiply).multiprocessors;
  const TileGeometry& tile = tile_geometry(choice.shape);
  const int batches = batch_count(problem.batch);
  const int step_count = problem.unit_begin[problem.unit_count];
  const std::uint32_t m_tiles = static_cast<std::uint32_t>(ceil_div(problem.m, tile.m));
  const std::uint32_t n_tiles = static_cast<std::uint32_t>(ceil_div(problem.n, tile.n));
  const std::uint32_t matrices = static_cast<std::uint32_t>(batches * choice.splits);

  sm90::GemmParams params = {};
  sm90::encode_plane_map(&params.a_map, problem.a, problem.m, problem.k, tile.m, sm90::kBlockK);
  sm90::encode_plane_map(&params.b_map, problem.b, problem.n, problem.k, tile.n, sm90::kBlockK);
  if (stores_words(problem)) {
    params.out_map = params.a_map;  // not used
    params.out_int32 = static_cast<std::int32_t*>(problem.out);
  } else {
    sm90::encode_output_map(&params.out_map, problem, choice.splits, batches, sm90::box_columns(tile.n));
  }
  params.order = make_tile_order(m_tiles, n_tiles, matrices, static_cast<std::uint32_t>(choice.band));
  params.batches = make_divisor(static_cast<std::uint32_t>(batches));
  params.batch = problem.batch;
  params.m = problem.m;
  params.n = problem.n;
  params.blocks_per_split = static_cast<std::int32_t>(ceil_div(ceil_div(problem.k, sm90::kBlockK), choice.splits));
  params.wave_slot = choice.keep_together && !sm90::takes_turns(tile.m, tile.n) ? next_wave_slot() : -1;
  params.out_pitch = problem.out_pitch;
  params.out_matrix_stride = problem.out_matrix_stride;
  params.out_matrices = matrices;
  params.unit_count = problem.unit_count;
  params.units_used = problem.units_used;
  params.device_steps = problem.device_steps;
  std::copy_n(problem.unit_begin, problem.unit_count + 1, params.unit_begin);
  if (problem.device_steps == nullptr) std::copy_n(problem.steps, step_count, params.steps);

  const std::int64_t tiles = std::int64_t(m_tiles) * n_tiles * matrices * problem.unit_count;
  const int limit = choice.max_blocks > 0 ? std::min(choice.max_blocks, multiprocessors) : multiprocessors;
  LaunchConfig config;
  config.stage = Stage::multiply;
  config.detail = kernel_name(Kernel::sm90);
  config.grid = dim3(static_cast<unsigned>(std::min<std::int64_t>(tiles, limit)));
  config.overlap_previous = choice.overlap_previous;
  config.stream = stream;
  const Launcher launcher = is_signed(problem.element) ? find_launcher<true>(choice.shape) : find_launcher<false>(choice.shape);
  launcher(params, config);
}

}  // namespace ozfp4::cuda
