// Hopper multiply: variants, launcher. The kernel is in sm90_kernel.cuh.
#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "multiply/cuda_gemm.hpp"
#include "multiply/gemm_problem.hpp"
#include "multiply/sm90_config.cuh"
#include "multiply/sm90_kernel.cuh"
#include "multiply/sm90_tensor_map.cuh"
#include "multiply/sm90_tile_choice.cuh"

namespace ozfp4::cuda {
namespace {

// ---- Launch --------------------------------------------------------------------------------------------------------

// The limit on dynamic shared memory is raised once per variant and device.
template <class C>
cudaError_t raise_shared_limit(int device) {
  static std::atomic<std::uint64_t> done{0};
  const std::uint64_t bit = std::uint64_t(1) << (device % 64);
  if (device < 64 && (done.load(std::memory_order_relaxed) & bit) != 0) return cudaSuccess;
  const cudaError_t error =
      cudaFuncSetAttribute(sm90::gemm_kernel<C>, cudaFuncAttributeMaxDynamicSharedMemorySize, C::kSharedBytes);
  if (error == cudaSuccess) done.fetch_or(bit, std::memory_order_relaxed);
  return error;
}

template <class C>
cudaError_t launch_variant(const sm90::GemmParams& params, const TileChoice& choice, int blocks, int device,
                           cudaStream_t stream) {
  if (const cudaError_t error = raise_shared_limit<C>(device)) return error;
  cudaLaunchAttribute overlap = {};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(C::kThreads);
  config.dynamicSmemBytes = C::kSharedBytes;
  config.stream = stream;
  config.attrs = &overlap;
  config.numAttrs = choice.overlap_previous ? 1 : 0;
  return cudaLaunchKernelEx(&config, sm90::gemm_kernel<C>, params);
}

int next_wave_slot() {
  static std::atomic<unsigned> next{0};
  return static_cast<int>(next.fetch_add(1, std::memory_order_relaxed) % sm90::kWaveSlots);
}

using Launcher = cudaError_t (*)(const sm90::GemmParams&, const TileChoice&, int blocks, int device, cudaStream_t);

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

cudaError_t launch_gemm(const GemmProblem& problem, const TileChoice& choice, cudaStream_t stream) {
  if (problem.element == Element::e2m1 || find_problem_error(problem, choice) != nullptr) return cudaErrorInvalidValue;
  if (problem.unit_count == 0) return cudaSuccess;

  int device = 0, multiprocessors = 0;
  if (const cudaError_t error = cudaGetDevice(&device)) return error;
  if (const cudaError_t error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device)) {
    return error;
  }

  const TileGeometry& tile = tile_geometry(choice.shape);
  const int batches = batch_count(problem.batch);
  const int step_count = problem.unit_begin[problem.unit_count];
  const std::uint32_t m_tiles = static_cast<std::uint32_t>(ceil_div(problem.m, tile.m));
  const std::uint32_t n_tiles = static_cast<std::uint32_t>(ceil_div(problem.n, tile.n));
  const std::uint32_t matrices = static_cast<std::uint32_t>(batches * choice.splits);

  sm90::GemmParams params = {};
  cudaError_t error = sm90::encode_plane_map(&params.a_map, problem.a, problem.m, problem.k, tile.m, sm90::kBlockK);
  if (error != cudaSuccess) return error;
  error = sm90::encode_plane_map(&params.b_map, problem.b, problem.n, problem.k, tile.n, sm90::kBlockK);
  if (error != cudaSuccess) return error;
  if (stores_words(problem)) {
    params.out_map = params.a_map;  // not used
    params.out_int32 = static_cast<std::int32_t*>(problem.out);
  } else {
    error = sm90::encode_output_map(&params.out_map, problem, choice.splits, batches, sm90::box_columns(tile.n));
    if (error != cudaSuccess) return error;
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
  const int blocks = static_cast<int>(std::min<std::int64_t>(tiles, limit));
  const Launcher launcher = is_signed(problem.element) ? find_launcher<true>(choice.shape) : find_launcher<false>(choice.shape);
  return launcher(params, choice, blocks, device, stream);
}

}  // namespace ozfp4::cuda
