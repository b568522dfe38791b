// Which tile for which shape, for the warp-level kernels: a cost model in clocks, evaluated for every tile.
#include <algorithm>
#include <cstdint>

#include "cuda/multiply/check.hpp"
#include "cuda/multiply/mma_sync/launch.hpp"
#include "cuda/multiply/mma_sync/shapes.hpp"

namespace ozfp4::cuda::warp {
namespace {

// Of one multiprocessor, dense. sm_90 was fitted on an H200; the others are the manufacturer's peak over clock and
// multiprocessors and were not run.
struct Rates {
  double byte_macs, fp4_macs;  // entries a clock
  double l2_bytes;             // a clock
};
Rates rates_of(int capability) {
  if (capability < 80) return {512, 512, 16};
  if (capability == 80) return {2048, 2048, 40};
  if (capability < 90) return {1024, 1024, 24};
  if (capability < 100) return {2540, 2540, 48};
  if (capability < 120) return {1024, 1024, 48};
  return {1024, 2048, 24};
}

constexpr double kFoldClocksPerEntry = 0.12;  // when all warps of a multiprocessor fold
constexpr double kStepClocks = 600;           // between K loops, whatever the tile
constexpr double kLaunchClocks = 6000;        // launch, first loads, last store
// The load-store unit's clocks for a row of a stage that cp.async copies, and for one fragment of ldmatrix.
constexpr double kCopyRowClocks = 1.53, kFragmentClocks = 4;
constexpr double kLoneWarps = 0.78;          // of the rate, with one warp on each of the four schedulers
constexpr double kMemoryBytesPerClock = 16;  // of one multiprocessor

// Fraction of the tensor cores' rate that one multiprocessor's warps reach. Narrow ones read more fragments per
// multiplication, which counts where the tensor cores are fast (fitted on sm_90).
double efficiency(const WarpShape& tile, double rate) {
  const double warp_m = static_cast<double>(tile.m) / tile.warps_m, warp_n = static_cast<double>(tile.n) / tile.warps_n;
  const double narrow = rate < 2000 ? 1.0 : std::min(1.0, 1.39 - 12.5 * (1 / warp_m + 1 / warp_n));
  return narrow * (tile.warps_m * tile.warps_n * tile.blocks < 8 ? kLoneWarps : 1.0);
}

// Clocks of the load-store unit for 128 bytes of K.
double shared_clocks(const WarpShape& tile, bool copies) {
  const double fragments = 4.0 * tile.warps_m * tile.warps_n *
                           (static_cast<double>(tile.m) / tile.warps_m / 16 + static_cast<double>(tile.n) / tile.warps_n / 16);
  return kFragmentClocks * fragments + (copies ? kCopyRowClocks * (tile.m + tile.n) * 128 / tile.row_bytes : 0);
}

}  // namespace

double model_clocks(const GemmShape& shape, const TileChoice& choice, Kernel kernel, Element element, const Gpu& gpu) {
  const WarpShape& tile = kShapes[static_cast<int>(choice.shape)];
  const Rates rates = rates_of(gpu.capability);
  const std::int64_t block = block_entries(element);
  const std::int64_t tiles = ceil_div(shape.m, tile.m) * ceil_div(shape.n, tile.n) * static_cast<std::int64_t>(shape.units) *
                             shape.batches * choice.splits;
  const double entries = static_cast<double>(tile.m) * tile.n;
  // Of a unit. Loads and products of blocks of 128 bytes of K.
  const double steps = static_cast<double>(shape.steps) / shape.units;
  const double folds = static_cast<double>(shape.folds > 0 ? shape.folds : shape.steps) / shape.units;
  const double blocks = static_cast<double>(ceil_div(ceil_div(shape.k, block), choice.splits)) * steps;
  const bool is_stand_in = kernel == Kernel::stand_in_copy || kernel == Kernel::stand_in_bulk;
  const double rate = is_stand_in ? 400 : element == Element::e2m1 ? rates.fp4_macs : rates.byte_macs;
  const double multiply = entries * static_cast<double>(block) / (rate * efficiency(tile, rate));
  const bool copies = kernel == Kernel::warp_copy || kernel == Kernel::stand_in_copy;
  const double load = std::max(128.0 * (tile.m + tile.n) / rates.l2_bytes, shared_clocks(tile, copies));

  // Blocks on one multiprocessor share its tensor cores; one alone cannot keep them busy.
  const std::int64_t most = static_cast<std::int64_t>(gpu.multiprocessors) * tile.blocks;
  const std::int64_t waves = ceil_div(tiles, most);
  const double alone = tiles <= gpu.multiprocessors ? 1.0 : tile.blocks;  // blocks that share
  const double lone_loss = tile.blocks > 1 && tiles <= gpu.multiprocessors ? 1.3 : 1.0;
  const double tile_clocks = blocks * std::max(multiply, load) * alone * lone_loss;
  const double fold_clocks = (steps * kStepClocks + folds * entries * kFoldClocksPerEntry * alone) / (alone > 1 ? 1.5 : 1.0);
  const double compute = static_cast<double>(waves) * (tile_clocks + fold_clocks);

  const double out_bytes = static_cast<double>(shape.units) * shape.batches * choice.splits * shape.m * shape.n;
  const double in_bytes =
      (static_cast<double>(shape.m) + shape.n) * static_cast<double>(row_bytes(element, shape.k)) * shape.steps * shape.batches;
  const double memory = (in_bytes + out_bytes) / (kMemoryBytesPerClock * gpu.multiprocessors);
  const double split = choice.splits > 1 ? 2 * out_bytes / (kMemoryBytesPerClock * gpu.multiprocessors) : 0;
  return kLaunchClocks + std::max(compute, memory) + 0.15 * std::min(compute, memory) + split;
}

TileChoice choose(const GemmShape& shape, Kernel kernel, Element element, const Gpu& gpu) {
  TileChoice best;
  best.predicted_clocks = -1;
  for (int t = 0; t < kTileShapes; ++t) {
    const std::int64_t ring = static_cast<std::int64_t>(kShapes[t].stages) * kShapes[t].row_bytes / 128;
    for (int splits = 1; splits <= shape.max_splits; splits *= 2) {
      if (splits > 1 && ceil_div(shape.k, block_entries(element)) / splits < ring) break;
      TileChoice choice;
      choice.shape = static_cast<TileShape>(t);
      choice.splits = splits;
      choice.predicted_clocks = model_clocks(shape, choice, kernel, element, gpu);
      if (best.predicted_clocks < 0 || choice.predicted_clocks < best.predicted_clocks) best = choice;
    }
  }
  return best;
}

}  // namespace ozfp4::cuda::warp
