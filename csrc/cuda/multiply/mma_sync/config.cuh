// One variant of the mma.sync kernel.
#pragma once

#include <cstdint>

#include "cuda/multiply/mma_sync/tiles.hpp"
#include "cuda/multiply/params.hpp"
#include "cuda/multiply/walk/shared_layout.cuh"

namespace ozfp4::cuda::mma_sync {

// A tile of kTileM x kTileN entries, cut among kWarpsM x kWarpsN warps. A stage holds kRowBytesOfStage bytes of K of every
// row of the tiles of A and B, in the swizzle of that row length.
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
  // Of a multiprocessor's 65,536 registers; loaders need few, multipliers hold up to 128 accumulators a thread.
  static constexpr int kLoaderRegisters = 40, kMultiplierRegisters = kBlocks == 1 ? 232 : 216;
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
