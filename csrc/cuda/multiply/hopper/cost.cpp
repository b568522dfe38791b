// Clocks of a launch of the Hopper kernel.
#include "cuda/multiply/cost.hpp"

#include <algorithm>
#include <cstdint>

#include "cuda/multiply/hopper/tiles.hpp"

namespace ozfp4::cuda::hopper {
namespace {

// Clocks, fitted to whole products on an H200 with 15 moduli, 84 shapes. They are M = N = 1024 to 6144 with K = 64 to 2048.
// Others are outputs of 64 x 64 to 512 x 512 with K = 2048 to 65536, cut into up to 32 parts. The choice is within 5 % of the
// best tile and cut of each.
constexpr double kMacsPerClock = 4096;  // of one multiprocessor, bytes
// Narrow tiles move more bytes per product, which costs energy, so clock frequency: (m + n) / (m n) beyond that of
// 128 x 256, times this, is the loss of rate.
constexpr double kTrafficCost = 20;
constexpr double kRowClocks = 1.6;       // loading 128 bytes of a row when all multiprocessors do
constexpr double kEmptyRowClocks = 2.5;  // beyond the last row: zeros
// A block of K cannot come sooner after it is asked for, and as many are asked for at a time as the ring holds.
constexpr double kLatency = 1485;
constexpr double kStepClocks = 680;  // between K loops
// Tiles of 256 x 192 take more of them, as their ring has three stages, and less where they hold all of a K loop. There the next
// one's operands are there when a tile is folded.
constexpr double kShortRingClocks = 760, kWholeRingClocks = -1340;
// Two warpgroups that multiply one after the other, see AllSteps: what they save for each step, where the ring holds more than
// its K loop.
constexpr double kAlternatingClocks = -600;
constexpr double kFoldClocksPerEntry = 0.05, kWideFoldClocksPerEntry = 0.04;  // the second for tiles of 128 x 256
constexpr double kLoneConsumer = 1.9;                                         // times that where one warpgroup folds alone
constexpr double kTurnClocks = 680;            // between the K loops of two warpgroups that take turns
constexpr double kTurnCost = 0.95;             // times their loops
constexpr double kLaunchClocks = 6000;         // launch, first loads, last store
constexpr double kTwoConsumerClocks = 520;     // more of them for tiles of 128 rows or more
constexpr double kMemoryBytesPerClock = 1840;  // of the device
constexpr double kOverlap = 0.3;               // the kOverlapCost of this kernel
constexpr double kSplitClocks = 400;           // of each part that K is cut into
constexpr double kSumClocks = 1500;            // of the launch that adds the parts; not measured

}  // namespace

double clocks(const KernelRow&, const GemmShape& shape, const TileChoice& choice, Element element, const Gpu& gpu) {
  const TileGeometry& tile = tile_geometry(choice.shape);
  const Work work = count_work(shape, tile.m, tile.n, choice.splits, element);
  const double entries = static_cast<double>(tile.m) * tile.n, rows = tile.m + tile.n;

  const double multiply = entries * kBlockK / kMacsPerClock * (1 + kTrafficCost * (rows / entries - 384.0 / 32768));
  const double a_rows = static_cast<double>(shape.m) / ceil_div(shape.m, tile.m);
  const double b_rows = static_cast<double>(shape.n) / ceil_div(shape.n, tile.n);
  const double load = (a_rows + b_rows) * kRowClocks + (rows - a_rows - b_rows) * kEmptyRowClocks;
  const int ring = stage_count(tile.m, tile.n), resident = resident_blocks(tile.m, tile.n);
  const bool turns = takes_turns(tile.m, tile.n);
  const bool may_alternate = alternates(tile.m, tile.n);
  const double fold =
      entries * (may_alternate ? kWideFoldClocksPerEntry : kFoldClocksPerEntry) * (tile.m >= 128 && !turns ? 1 : kLoneConsumer);
  const double stream = work.blocks * work.steps * std::max(multiply, load);
  const double alone = work.blocks * work.steps * std::max({multiply, load, kLatency / ring});  // without neighbours
  const double wide = tile.m > 128                          ? work.blocks > ring ? kShortRingClocks : kWholeRingClocks
                      : may_alternate && work.blocks < ring ? kAlternatingClocks
                                                            : 0;
  const double rest = work.steps * (kStepClocks + wide) + work.folds * fold;
  const std::int64_t tiles_each = ceil_div(work.tiles, gpu.multiprocessors);
  const auto rounds = static_cast<double>(tiles_each);
  // With alternating tiles, the tensor cores are busy with one tile while the other one is folded; so they are where blocks share
  // a multiprocessor.
  const double compute = turns ? rounds * std::max(kTurnCost * alone + work.steps * kTurnClocks, (alone + rest) / 2) + rest
                               : std::max(rounds * stream, static_cast<double>(ceil_div(tiles_each, resident)) * (alone + rest));

  const double memory = (work.in_bytes + work.out_bytes) / kMemoryBytesPerClock;
  // Parts of K are written here and read where they are added.
  const double split =
      choice.splits > 1 ? 2 * work.out_bytes / kMemoryBytesPerClock + kSplitClocks * choice.splits + kSumClocks : 0;
  const double start = kLaunchClocks + (tile.m >= 128 ? kTwoConsumerClocks : 0);
  return launch_clocks(start, compute, memory, kOverlap) + split;
}

}  // namespace ozfp4::cuda::hopper
