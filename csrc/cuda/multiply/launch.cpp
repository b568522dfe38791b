#include "cuda/multiply/launch.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "arith/multiples.hpp"
#include "cuda/runtime/device.hpp"

namespace ozfp4::cuda {
namespace {

// ---- Tensor maps for TMA ---------------------------------------------------------------------------------------------------

// Throws LaunchError, with cudaErrorNotSupported where the driver has no tensor maps.
void encode_map(CUtensorMap* map, int rank, const void* data, const cuuint64_t* extent, const cuuint64_t* stride,
                const cuuint32_t* box, CUtensorMapSwizzle swizzle) {
  static const auto encode = driver_function<decltype(cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
  if (encode == nullptr) throw LaunchError(Stage::multiply, cudaErrorNotSupported, "the driver's tensor maps");
  const cuuint32_t element_stride[5] = {1, 1, 1, 1, 1};
  const CUresult result =
      encode(map, CU_TENSOR_MAP_DATA_TYPE_UINT8, static_cast<cuuint32_t>(rank), const_cast<void*>(data), extent, stride, box,
             element_stride, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);  // reads outside give zeros
  if (result != CUDA_SUCCESS) throw LaunchError(Stage::multiply, cudaErrorInvalidValue, "a tensor map");
}

// Planes [plane][batch][row][byte], read in boxes of `box_rows` rows x `box_bytes` bytes (128 or 64: the swizzled row). The
// extent along K is the true one, so the padding of a row reads as zero.
void encode_plane_map(CUtensorMap* map, const PlaneArray& planes, int rows, std::int64_t bytes, int box_rows, int box_bytes) {
  const cuuint64_t extent[4] = {static_cast<cuuint64_t>(bytes), static_cast<cuuint64_t>(rows),
                                static_cast<cuuint64_t>(planes.batches), static_cast<cuuint64_t>(planes.planes)};
  const cuuint64_t stride[3] = {static_cast<cuuint64_t>(planes.pitch), static_cast<cuuint64_t>(planes.batch_stride),
                                static_cast<cuuint64_t>(planes.plane_stride)};
  const cuuint32_t box[4] = {static_cast<cuuint32_t>(box_bytes), static_cast<cuuint32_t>(box_rows), 1, 1};
  encode_map(map, 4, planes.data, extent, stride, box, box_bytes == 128 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B);
}

// Byte output [matrix][row][column], written in boxes of 64 rows x 128 (64) bytes.
void encode_output_map(CUtensorMap* map, const GemmProblem& problem, int matrices_of_plane, int box_columns) {
  const cuuint64_t extent[3] = {static_cast<cuuint64_t>(problem.n), static_cast<cuuint64_t>(problem.m),
                                static_cast<cuuint64_t>(problem.out_planes) * static_cast<cuuint64_t>(matrices_of_plane)};
  const cuuint64_t stride[2] = {static_cast<cuuint64_t>(problem.out_pitch), static_cast<cuuint64_t>(problem.out_matrix_stride)};
  const cuuint32_t box[3] = {static_cast<cuuint32_t>(box_columns), 64, 1};
  encode_map(map, 3, problem.out, extent, stride, box,
             box_columns == 128 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B);
}

// ---- The launch ------------------------------------------------------------------------------------------------------------

// Launches take slots in turn.
int next_wave_slot(int slots) {
  static std::atomic<unsigned> next{0};
  return static_cast<int>(next.fetch_add(1, std::memory_order_relaxed) % static_cast<unsigned>(slots));
}

void encode_maps(const KernelRow& row, const KernelTile& tile, const GemmProblem& problem, int matrices, MultiplyParams& params) {
  if (!row.has(kLoadsByTma)) return;
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
  const KernelTile& tile = *row.family->find_tile(choice.shape);
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
  const bool is_gated = choice.keep_together && row.family->wave_slots > 0 && !tile.takes_turns;
  params.wave_slot = is_gated ? next_wave_slot(row.family->wave_slots) : -1;
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
  LaunchConfig how(Stage::multiply, row.name, 0, stream, choice.overlap_previous);
  how.grid = dim3(static_cast<unsigned>(std::min<std::int64_t>(tiles, limit)));
  start(params, choice.shape, problem.element, how);
}

}  // namespace ozfp4::cuda
