#include "cuda/fused/tile.hpp"

#include <cstdlib>

#include "arith/multiples.hpp"
#include "cuda/fused/tile_kernel.cuh"
#include "cuda/launch.hpp"

namespace ozfp4::cuda {
namespace {

using namespace fused;

bool runs_along_k(const DeviceOperand& operand) { return std::abs(operand.inner_stride) < std::abs(operand.outer_stride); }

template <int Chunks, bool Certifies>
void launch_shape(LaunchConfig& config, const TileParameters& p) {
  config.shared_bytes = sizeof(TileShared<Certifies>);
  launch(tile_kernel<PlaneShape<Chunks>, Certifies>, config, p);
}

}  // namespace

void launch_tiles(const TileTables& tables, const ReconstructJob& job, const CapacityRule& capacity, cudaStream_t stream,
                  const Certification* certification) {
  TileParameters p{};
  p.job = job;
  p.capacity = capacity;
  if (certification != nullptr) p.certification = *certification;
  p.tiles_x = static_cast<std::int32_t>(ceil_div(job.result.columns, kTile));
  p.runs_along_k[0] = runs_along_k(job.a.view);
  p.runs_along_k[1] = runs_along_k(job.b.view);
  p.tables = tables;
  LaunchConfig config;
  config.stage = Stage::direct;
  config.grid =
      dim3(static_cast<unsigned>(p.tiles_x * ceil_div(job.result.rows, kTile)), static_cast<unsigned>(job.result.stack.count()));
  config.block = dim3(kTileThreads);
  config.overlap_previous = job.overlap_previous;
  config.stream = stream;
  const bool is_short = job.a.view.inner <= PlaneShape<4>::inner;
  if (certification != nullptr) {
    is_short ? launch_shape<4, true>(config, p) : launch_shape<8, true>(config, p);
  } else {
    is_short ? launch_shape<4, false>(config, p) : launch_shape<8, false>(config, p);
  }
}

}  // namespace ozfp4::cuda
