// Clocks of a launch of the mma.sync kernels.
#include "cuda/multiply/cost.hpp"

#include <algorithm>
#include <cstdint>

#include "cuda/multiply/mma_sync/tiles.hpp"

namespace ozfp4::cuda::mma_sync {
namespace {

// Rates of one multiprocessor, dense. sm_90 was fitted on an H200; the others are the manufacturer's peak over clock and
// multiprocessors and were not run. That of sm_100 is assumed: B200's peak is tcgen05's. sm_103 has 150 TOPS of 160
// multiprocessors left.
struct Rates {
  double byte_macs, fp4_macs;  // entries a clock
  double l2_bytes;             // a clock
};
Rates rates_of(int capability) {
  if (capability < 80) return {512, 512, 16};
  if (capability == 80) return {2048, 2048, 40};
  if (capability < 90) return {1024, 1024, 24};
  if (capability < 100) return {2540, 2540, 48};
  if (capability == 103) return {256, 256, 48};
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

double byte_rate(int capability) { return rates_of(capability).byte_macs; }

double clocks(const KernelRow& row, const GemmShape& shape, const TileChoice& choice, Element element, const Gpu& gpu) {
  const WarpShape& tile = kShapes[static_cast<int>(choice.shape)];
  const Rates rates = rates_of(gpu.capability);
  const Work work = count_work(shape, tile.m, tile.n, choice.splits, element);
  const double entries = static_cast<double>(tile.m) * tile.n;
  const double rate = row.has(kIsStandIn) ? 400 : element == Element::e2m1 ? rates.fp4_macs : rates.byte_macs;
  const double multiply = entries * block_entries(element) / (rate * efficiency(tile, rate));
  const double load = std::max(128.0 * (tile.m + tile.n) / rates.l2_bytes, shared_clocks(tile, !row.has(kLoadsByTma)));

  // Blocks on one multiprocessor share its tensor cores; one alone cannot keep them busy.
  const auto waves = static_cast<double>(ceil_div(work.tiles, static_cast<std::int64_t>(gpu.multiprocessors) * tile.blocks));
  const double alone = work.tiles <= gpu.multiprocessors ? 1.0 : tile.blocks;  // blocks that share
  const double lone_loss = tile.blocks > 1 && work.tiles <= gpu.multiprocessors ? 1.3 : 1.0;
  const double tile_clocks = work.blocks * work.steps * std::max(multiply, load) * alone * lone_loss;
  const double fold_clocks =
      (work.steps * kStepClocks + work.folds * entries * kFoldClocksPerEntry * alone) / (alone > 1 ? 1.5 : 1.0);
  const double compute = waves * (tile_clocks + fold_clocks);

  const double bytes_per_clock = kMemoryBytesPerClock * gpu.multiprocessors;
  const double memory = (work.in_bytes + work.out_bytes) / bytes_per_clock;
  const double split = choice.splits > 1 ? 2 * work.out_bytes / bytes_per_clock : 0;
  return launch_clocks(kLaunchClocks, compute, memory) + split;
}

}  // namespace ozfp4::cuda::mma_sync
