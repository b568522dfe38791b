#include "cuda/fused/tile.hpp"

#include <cstdlib>

#include "arith/multiples.hpp"
#include "cuda/fused/tile_kernel.cuh"
#include "cuda/launch.hpp"

namespace ozfp4::cuda {
namespace {

using namespace fused;

bool runs_along_k(const DeviceOperand& operand) { return std::abs(operand.inner_stride) < std::abs(operand.outer_stride); }

template <class S>
void launch_shape(LaunchConfig& config, TileParameters& p) {
  const DeviceResult& result = p.job.result;
  p.tiles_x = static_cast<std::int32_t>(ceil_div(result.columns, kTileColumns));
  config.grid = dim3(static_cast<unsigned>(p.tiles_x * ceil_div(result.rows, S::rows)), static_cast<unsigned>(result.stack.count()));
  config.block = dim3(S::threads);
  const bool certifies = p.certification.accuracy != Accuracy::scaled;
  config.shared_bytes = certifies ? sizeof(TileShared<S, true>) : sizeof(TileShared<S, false>);
  launch(certifies ? tile_kernel<S, true> : tile_kernel<S, false>, config, p);
}

}  // namespace

void launch_tiles(const TileTables& tables, const ReconstructJob& job, const CapacityRule& capacity, cudaStream_t stream,
                  const Certification* certification) {
  TileParameters p{};
  p.job = job;
  p.capacity = capacity;
  if (certification != nullptr) p.certification = *certification;
  p.runs_along_k[0] = runs_along_k(job.a.view);
  p.runs_along_k[1] = runs_along_k(job.b.view);
  p.tables = tables;
  LaunchConfig config;
  config.stage = Stage::direct;
  config.overlap_previous = job.overlap_previous;
  config.stream = stream;
  using Short = PlaneShape<4, 64, 8>;
  using Long = PlaneShape<8, 128, 8>;
  job.a.view.inner <= Short::inner ? launch_shape<Short>(config, p) : launch_shape<Long>(config, p);
}

}  // namespace ozfp4::cuda
