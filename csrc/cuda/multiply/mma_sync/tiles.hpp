// How each tile is cut among the warps of a block, for every atom and loader.
#pragma once

#include <array>
#include <utility>

#include "cuda/multiply/registry.hpp"

namespace ozfp4::cuda::mma_sync {

struct WarpShape {
  int m, n;
  int warps_m, warps_n;  // multiplier warps along each
  int row_bytes;         // of K in a stage
  int stages;
  int blocks;  // on a multiprocessor, at least
};

// In the order of TileShape, its first six. Warps hold 64 x 64 where they can: then they read 8 fragments from shared memory for
// 32 multiplications. Two blocks on a multiprocessor multiply while the other one folds.
inline constexpr WarpShape kShapes[] = {
    {128, 256, 2, 4, 64, 4, 1}, {128, 128, 2, 2, 64, 3, 2}, {128, 64, 2, 2, 64, 4, 2},
    {64, 256, 1, 4, 64, 4, 1},  {64, 128, 2, 2, 64, 4, 2},  {64, 64, 2, 2, 64, 6, 2},
};

// Shared memory of a multiprocessor of sm_86, sm_89 and sm_120, and what each resident block takes of it beyond its own; every
// variant keeps to it on every GPU.
inline constexpr int kSharedOfMultiprocessor = 102400, kSharedOfBlock = 1024;

// The numbers of the shapes of kernels that load by cp.async, and by TMA. By the model of mma_sync/cost.cpp tiles of 256 columns
// are the fastest on sm_80 alone, which has no TMA.
using CopyShapes = std::integer_sequence<int, 0, 1, 2, 3, 4, 5>;
using BulkShapes = std::integer_sequence<int, 1, 2, 4, 5>;

constexpr KernelTile make_tile(int shape) {
  const WarpShape& warps = kShapes[shape];
  return {static_cast<TileShape>(shape), warps.row_bytes, warps.stages * warps.row_bytes / 128, warps.blocks};
}
template <int... kNumbers>
constexpr std::array<KernelTile, sizeof...(kNumbers)> make_tiles(std::integer_sequence<int, kNumbers...>) {
  return {make_tile(kNumbers)...};
}
inline constexpr auto kCopyTiles = make_tiles(CopyShapes());
inline constexpr auto kBulkTiles = make_tiles(BulkShapes());

// One variant of the kernel: a tile of kTileM x kTileN entries, cut among kWarpsM x kWarpsN warps. A stage holds kRowBytesOfStage
// bytes of K of every row of the tiles of A and B, in the swizzle of that row length.
template <class AtomType, class LoaderType, int kTileM, int kTileN, int kWarpsOfM, int kWarpsOfN, int kRowBytesOfStage,
          int kStagesOfRing, int kBlocks>
struct Config {
  using Atom = AtomType;
  using Loader = LoaderType;
  static constexpr int kM = kTileM, kN = kTileN, kWarpsM = kWarpsOfM, kWarpsN = kWarpsOfN;
  static constexpr int kRowBytes = kRowBytesOfStage, kStages = kStagesOfRing;
  static constexpr int kBlocksPerMultiprocessor = kBlocks;

  static constexpr int kMultipliers = kWarpsM * kWarpsN;  // warps
  static constexpr int kThreads = 32 * (kMultipliers + Loader::kWarps);
  // A multiprocessor has 65,536 registers; loaders need few, multipliers hold up to 128 accumulators a thread.
  static constexpr int kLoaderRegisters = 40, kMultiplierRegisters = 216;
  static constexpr int kWarpM = kM / kWarpsM, kWarpN = kN / kWarpsN;  // tile of one warp
  static constexpr int kRows = kWarpM / 16, kColumns = kWarpN / 8;    // of fragments 16 x 8
  static constexpr int kBlockEntries = kRowBytes * Atom::kEntriesPerByte;

  static constexpr int kStageBytesA = kM * kRowBytes, kStageBytes = (kM + kN) * kRowBytes;
  static constexpr int kBarriersAt = kStages * kStageBytes;
  static constexpr int kSharedBytes = kBarriersAt + 2 * kStages * 8;

  static_assert(kRowBytes == 64 || kRowBytes == 128, "the two swizzles");
  static_assert(kWarpM % 16 == 0 && (kWarpN == 32 || kWarpN % 64 == 0), "see mma_sync/epilogue.cuh");
  static_assert(kStages >= 3 && kBlocks * (kSharedBytes + kSharedOfBlock) <= kSharedOfMultiprocessor,
                "the pipelines of the resident blocks do not fit");
  static_assert(kBlocks * 32 * (kMultipliers * kMultiplierRegisters + Loader::kWarps * kLoaderRegisters) <= 65536 ||
                    Loader::kWarps == 0,
                "registers do not suffice");
  static_assert(kStageBytesA % 1024 == 0 && kStageBytes % 1024 == 0, "tiles start where the swizzle does");
};

}  // namespace ozfp4::cuda::mma_sync
