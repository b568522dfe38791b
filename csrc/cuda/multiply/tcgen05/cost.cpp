// Clocks of all launches of the sm_100 kernels. Modelled, not run on hardware.
#include "cuda/multiply/cost.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cuda/multiply/tcgen05/pass.hpp"

namespace ozfp4::cuda::tcgen05 {
namespace {

// Clocks of a tile for 128 bytes of K, from the manufacturer's peak over clock and multiprocessors. The peak is 16384
// multiply-adds of codes a clock and multiprocessor. Bytes run at half that rate, and 128 bytes of K hold half as many of them.
constexpr double kBlockClocks = 512;
constexpr double kBlockClocks96 = 342;  // with K = 96 instructions
// The last sums of a block drain while the next tile's are made, except those of the first 64 columns.
constexpr double kFoldClocks = 1500;
constexpr double kLaunchClocks = 6000;
constexpr double kMemoryBytesPerClock = 28;  // of one multiprocessor

}  // namespace

double clocks(const KernelRow& row, const GemmShape& shape, const TileChoice& choice, Element element, const Gpu& gpu) {
  const Work work = count_work(shape, kTile, kTile, choice.splits, element);
  const auto waves = static_cast<double>(ceil_div(work.tiles, std::max(1, gpu.multiprocessors / 2)));
  const bool is_96 = row.kernel == Kernel::tcgen05_fp4_96;
  constexpr double kTileBlocks = kTileEntries96 / block_entries(Element::e2m1);
  double blocks = work.steps * work.blocks / work.folds;  // of a pass
  if (is_96) blocks = kTileBlocks * std::ceil(blocks / kTileBlocks);
  const double compute = waves * work.folds * (blocks * (is_96 ? kBlockClocks96 : kBlockClocks) + kFoldClocks);

  // A pass after the first reads the bytes that it replaces.
  const double out_bytes = work.out_bytes * (2 * work.folds - 1);
  const double split_bytes = choice.splits > 1 ? 2 * work.out_bytes : 0;
  const double memory = (work.in_bytes + out_bytes + split_bytes) / (kMemoryBytesPerClock * gpu.multiprocessors);
  return launch_clocks(work.folds * kLaunchClocks, compute, memory);
}

}  // namespace ozfp4::cuda::tcgen05
