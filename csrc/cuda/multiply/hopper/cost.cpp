// Clocks of a launch of the Hopper kernel.
#include "cuda/multiply/cost.hpp"

#include <algorithm>
#include <cstdint>

#include "cuda/multiply/hopper/tiles.hpp"

namespace ozfp4::cuda::hopper {
namespace {

// Clocks, fitted to an H200: 15 moduli at N = 256 to 2048 and at M or N = 1, 16, 64; 59 products at 256, 512, 1024; scheme I
// at 512, 1024. There the choice is within 3 % of the best one measured.
constexpr double kMacsPerClock = 4096;  // of one multiprocessor, bytes
// Narrow tiles move more bytes per product, which costs energy, so clock frequency: (m + n) / (m n) beyond that of
// 128 x 256, times this, is the loss of rate.
constexpr double kTrafficCost = 15;
// Loading 128 bytes of a row when all multiprocessors do. Neighbours share the rows of B, see walk/tile_order.cuh.
constexpr double kRowClocksA = 2.1, kRowClocksB = 1.4;
constexpr double kEmptyRowClocks = 5.9;  // beyond the last row: zeros
constexpr double kStepClocks = 740;      // between K loops
// More of them for 256 x 192, whose ring has three stages: N = 3072 takes 5 % less than with other tiles, 4096 3 %.
constexpr double kShortRingClocks = 400;
constexpr double kFoldClocksPerEntry = 0.077;
constexpr double kLoneConsumer = 1.6;          // times that where one warpgroup folds alone
constexpr double kTurnClocks = 100;            // between the K loops of two warpgroups that take turns
constexpr double kTurnCost = 1.05;             // times their loops: in products from N = 4096 on, wide tiles draw less power
constexpr double kLaunchClocks = 6000;         // launch, first loads, last store
constexpr double kTwoConsumerClocks = 3000;    // more of them for tiles of 128 rows or more
constexpr double kMemoryBytesPerClock = 2400;  // of the device: 4.2 TB/s at 1.75 GHz

}  // namespace

double clocks(const KernelRow&, const GemmShape& shape, const TileChoice& choice, Element element, const Gpu& gpu) {
  const TileGeometry& tile = tile_geometry(choice.shape);
  const Work work = count_work(shape, tile.m, tile.n, choice.splits, element);
  const double entries = static_cast<double>(tile.m) * tile.n, rows = tile.m + tile.n;

  const double multiply = entries * kBlockK / kMacsPerClock * (1 + kTrafficCost * (rows / entries - 384.0 / 32768));
  const double a_rows = static_cast<double>(shape.m) / ceil_div(shape.m, tile.m);
  const double b_rows = static_cast<double>(shape.n) / ceil_div(shape.n, tile.n);
  const double load = a_rows * kRowClocksA + b_rows * kRowClocksB + (rows - a_rows - b_rows) * kEmptyRowClocks;
  const bool turns = takes_turns(tile.m, tile.n);
  const double fold = entries * kFoldClocksPerEntry * (tile.m >= 128 && !turns ? 1 : kLoneConsumer);
  const double stream = work.blocks * work.steps * std::max(multiply, load);
  const double rest = work.steps * (kStepClocks + (tile.m > 128 ? kShortRingClocks : 0)) + work.folds * fold;
  const std::int64_t tiles_each = ceil_div(work.tiles, gpu.multiprocessors);
  const auto rounds = static_cast<double>(tiles_each);
  // In turns, the tensor cores are busy with one tile while the other one is folded; so they are where blocks share a
  // multiprocessor.
  const double compute =
      turns ? rounds * std::max(kTurnCost * stream + work.steps * kTurnClocks, (stream + rest) / 2) + rest
            : std::max(rounds * stream,
                       static_cast<double>(ceil_div(tiles_each, resident_blocks(tile.m, tile.n))) * (stream + rest));

  const double memory = (work.in_bytes + work.out_bytes) / kMemoryBytesPerClock;
  const double split = choice.splits > 1 ? 2 * work.out_bytes / kMemoryBytesPerClock : 0;  // written here, read by reconstruct
  return launch_clocks(kLaunchClocks + (tile.m >= 128 ? kTwoConsumerClocks : 0), compute, memory) + split;
}

}  // namespace ozfp4::cuda::hopper
