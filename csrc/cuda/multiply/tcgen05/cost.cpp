// How often to cut K for the sm_100 kernels, by a cost model in clocks. Their tile is fixed. Modelled, not run on hardware.
#include <algorithm>
#include <cstdint>

#include "cuda/multiply/check.hpp"
#include "cuda/multiply/tcgen05/launch.hpp"

namespace ozfp4::cuda::sm100 {
namespace {

// Two multiprocessors share a tile of 256 x 256.
constexpr int kTileEdge = 256;
// Of a tile, for 128 bytes of K: codes at 16384 multiply-adds a clock and multiprocessor, bytes at half of that for half as
// many; the manufacturer's peak over clock and multiprocessors.
constexpr double kBlockClocks = 512;
constexpr double kBlockClocks96 = 342;  // with K = 96 instructions
// The last sums of a block drain while the next tile's are made, except those of the first 64 columns.
constexpr double kFoldClocks = 1500;
constexpr double kLaunchClocks = 6000;
constexpr double kMemoryBytesPerClock = 28;  // of one multiprocessor

}  // namespace

double model_clocks(const GemmShape& shape, const TileChoice& choice, Kernel kernel, Element element, const Gpu& gpu) {
  const std::int64_t matrices = static_cast<std::int64_t>(shape.units) * shape.batches * choice.splits;
  const std::int64_t tiles = ceil_div(shape.m, kTileEdge) * ceil_div(shape.n, kTileEdge) * matrices;
  const double steps = static_cast<double>(shape.steps) / shape.units;
  const double folds = static_cast<double>(shape.folds > 0 ? shape.folds : shape.steps) / shape.units;
  const auto blocks = static_cast<double>(ceil_div(ceil_div(shape.k, block_entries(element)), choice.splits));
  const auto waves = static_cast<double>(ceil_div(tiles, std::max(1, gpu.multiprocessors / 2)));
  const double block_clocks = kernel == Kernel::sm103_fp4 ? kBlockClocks96 : kBlockClocks;
  const double compute = waves * (steps * blocks * block_clocks + folds * kFoldClocks);

  // A pass after the first reads the bytes that it replaces.
  const double out_bytes = static_cast<double>(matrices) * shape.m * shape.n * (2 * folds - 1);
  const double in_bytes =
      (static_cast<double>(shape.m) + shape.n) * static_cast<double>(row_bytes(element, shape.k)) * shape.steps * shape.batches;
  const double again = choice.splits > 1 ? 2.0 * static_cast<double>(matrices) * shape.m * shape.n : 0;
  const double memory = (in_bytes + out_bytes + again) / (kMemoryBytesPerClock * gpu.multiprocessors);
  return folds * kLaunchClocks + std::max(compute, memory) + 0.15 * std::min(compute, memory);
}

TileChoice choose(const GemmShape& shape, Kernel kernel, Element element, const Gpu& gpu) {
  TileChoice best;
  best.predicted_clocks = -1;
  const std::int64_t blocks = ceil_div(shape.k, block_entries(element));
  for (int splits = 1; splits <= shape.max_splits && (splits == 1 || blocks / splits >= 4); splits *= 2) {
    TileChoice choice;
    choice.shape = TileShape::m128n256;  // of one multiprocessor
    choice.splits = splits;
    choice.predicted_clocks = model_clocks(shape, choice, kernel, element, gpu);
    if (best.predicted_clocks < 0 || choice.predicted_clocks < best.predicted_clocks) best = choice;
  }
  return best;
}

}  // namespace ozfp4::cuda::sm100
