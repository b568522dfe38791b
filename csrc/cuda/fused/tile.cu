#include <algorithm>

#include "arith/multiples.hpp"
#include "cuda/direct/place.cuh"
#include "cuda/fused/tile.hpp"
#include "cuda/fused/tile_kernel.cuh"
#include "cuda/launch.hpp"

namespace ozfp4::cuda {
namespace {

using namespace fused;

std::int64_t tiles_of(const DeviceResult& result) { return ceil_div(result.rows, kTile) * ceil_div(result.columns, kTile); }

}  // namespace

bool can_multiply_tiles(const TileTables& tables, const ReconstructJob& job, const CapacityRule& capacity) {
  constexpr ElementType type = ElementType::float64;
  return job.result.type == type && job.a.view.type == type && job.b.view.type == type &&
         capacity.accuracy != Accuracy::correct && (capacity.accuracy != Accuracy::scaled || capacity.bits <= tables.bits) &&
         job.a.view.inner <= kMostTileInner && job.result.stack.count() <= kMostGridExtent && tiles_of(job.result) <= INT32_MAX;
}

double microseconds_of_tiles(const DeviceResult& result, std::int32_t inner, bool certifies, int multiprocessors) {
  const std::int64_t tiles = tiles_of(result) * result.stack.count();
  const double partial = inner < kMostTileInner ? 1.12 : 1;  // entries are looked at one by one
  if (tiles <= multiprocessors) return partial * (certifies ? 27 : 20);
  return 4 + partial * static_cast<double>(ceil_div(tiles, 2 * multiprocessors)) * (certifies ? 33 : 27);
}

void launch_tiles(const TileTables& tables, const ReconstructJob& job, const CapacityRule& capacity, cudaStream_t stream,
                  const Certification* certification) {
  TileParameters p{};
  p.job = job;
  p.capacity = capacity;
  if (certification != nullptr) p.certification = *certification;
  p.tiles_x = static_cast<std::int32_t>(ceil_div(job.result.columns, kTile));
  p.runs_along_k[0] = direct::runs_along_k(job.a.view);
  p.runs_along_k[1] = direct::runs_along_k(job.b.view);
  p.tables = tables;
  LaunchConfig config;
  config.stage = Stage::direct;
  config.detail = "tiles";
  config.grid = dim3(static_cast<unsigned>(tiles_of(job.result)), static_cast<unsigned>(job.result.stack.count()));
  config.block = dim3(kTileThreads);
  config.overlap_previous = job.overlap_previous;
  config.stream = stream;
  const bool certifies = certification != nullptr;
  config.shared_bytes = certifies ? sizeof(TileShared<true>) : sizeof(TileShared<false>);
  launch(certifies ? tile_kernel<true> : tile_kernel<false>, config, p);
}

}  // namespace ozfp4::cuda
