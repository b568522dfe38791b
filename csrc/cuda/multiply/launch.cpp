#include "cuda/multiply/launch.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "arith/multiples.hpp"
#include "cuda/multiply/ptx/tensor_map.cuh"

namespace ozfp4::cuda {
namespace {

// Launches take slots in turn.
int next_wave_slot(int slots) {
  static std::atomic<unsigned> next{0};
  return static_cast<int>(next.fetch_add(1, std::memory_order_relaxed) % static_cast<unsigned>(slots));
}

void encode_maps(const KernelRow& row, const KernelTile& tile, const GemmProblem& problem, int matrices, MultiplyParams& params) {
  if (!row.loads_by_tma) return;
  const TileGeometry& geometry = tile_geometry(tile.shape);
  encode_plane_map(&params.a_map, problem.a, problem.m, params.k_bytes, geometry.m, tile.row_bytes);
  encode_plane_map(&params.b_map, problem.b, problem.n, params.k_bytes, geometry.n, tile.row_bytes);
  params.out_map = params.a_map;  // where nothing is stored by it; the kernel prefetches it
  if (tile.out_box_columns > 0 && !problem.stores_words()) {
    encode_output_map(&params.out_map, problem, matrices, tile.out_box_columns);
  }
}

}  // namespace

void launch_params(const KernelRow& row, const GemmProblem& problem, const TileChoice& choice, cudaStream_t stream, Start start) {
  const KernelTile& tile = *row.find_tile(choice.shape);
  const TileGeometry& geometry = tile_geometry(choice.shape);
  const int batches = problem.batch.count(), matrices = batches * choice.splits;
  const auto m_tiles = static_cast<std::uint32_t>(ceil_div(problem.m, geometry.m));
  const auto n_tiles = static_cast<std::uint32_t>(ceil_div(problem.n, geometry.n));

  MultiplyParams params = {};
  params.a = problem.a;
  params.b = problem.b;
  params.order = make_tile_order(m_tiles, n_tiles, static_cast<std::uint32_t>(matrices), static_cast<std::uint32_t>(choice.band));
  params.batches = make_divisor(static_cast<std::uint32_t>(batches));
  params.batch = problem.batch;
  params.m = problem.m;
  params.n = problem.n;
  params.k_bytes = static_cast<std::int32_t>(row_bytes(problem.element, problem.k));
  params.blocks_per_split =
      static_cast<std::int32_t>(ceil_div(ceil_div(problem.k, block_entries(problem.element)), choice.splits));
  const bool is_gated = choice.keep_together && row.wave_slots > 0 && !tile.takes_turns;
  params.wave_slot = is_gated ? next_wave_slot(row.wave_slots) : -1;
  if (problem.stores_words()) {
    params.out_int32 = static_cast<std::int32_t*>(problem.out);
  } else {
    params.out_bytes = static_cast<std::uint8_t*>(problem.out);
  }
  params.out_pitch = problem.out_pitch;
  params.out_matrix_stride = problem.out_matrix_stride;
  params.out_matrices = static_cast<std::uint32_t>(matrices);
  params.unit_count = problem.unit_count;
  params.units_per_modulus = problem.units_per_modulus;
  params.moduli_used = problem.moduli_used;
  params.device_steps = problem.device_steps;
  std::copy_n(problem.unit_begin, problem.unit_count + 1, params.unit_begin);
  if (problem.device_steps == nullptr) std::copy_n(problem.steps, problem.unit_begin[problem.unit_count], params.steps);
  encode_maps(row, tile, problem, matrices, params);

  const std::int64_t tiles = std::int64_t(m_tiles) * n_tiles * matrices * problem.unit_count;
  const int most = current_device(Stage::multiply).multiprocessors * tile.blocks;
  const int limit = choice.max_blocks > 0 ? std::min(choice.max_blocks, most) : most;
  LaunchConfig how;
  how.stage = Stage::multiply;
  how.detail = row.name;
  how.grid = dim3(static_cast<unsigned>(std::min<std::int64_t>(tiles, limit)));
  how.overlap_previous = choice.overlap_previous;
  how.stream = stream;
  start(params, choice.shape, problem.element, how);
}

}  // namespace ozfp4::cuda
