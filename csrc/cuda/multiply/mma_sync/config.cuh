// One variant of the warp-level kernel, and what all variants receive.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "cuda/multiply/contract.hpp"
#include "cuda/multiply/mma_sync/shapes.hpp"
#include "cuda/multiply/walk/tile_order.cuh"

namespace ozfp4::cuda::warp {

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
  static constexpr int kSharedBytes = kBarriersAt + 2 * kStages * 8 + 1024;  // the base is aligned to 1024 by hand

  static_assert(kRowBytes == 64 || kRowBytes == 128, "the two swizzles");
  static_assert(kWarpM % 16 == 0 && (kWarpN == 32 || kWarpN % 64 == 0), "see mma_sync/epilogue.cuh");
  static_assert(kStages >= 3 && kSharedBytes <= kSharedLimit, "the pipeline does not fit");
  static_assert(kBlocks * 32 * (kMultipliers * kMultiplierRegisters + Loader::kWarps * kLoaderRegisters) <= 65536 ||
                    Loader::kWarps == 0,
                "registers do not suffice");
  static_assert(kStageBytesA % 1024 == 0 && kStageBytes % 1024 == 0, "tiles start where the swizzle does");
};

// Offset of byte 16 * chunk of a row in a tile whose rows of kRowBytes bytes are swizzled as TMA does it: the eight rows
// that ldmatrix reads at once fall into different banks.
template <int kRowBytes>
OZFP4_HD std::uint32_t swizzled_chunk(std::uint32_t row, std::uint32_t chunk) {
  const std::uint32_t key = kRowBytes == 128 ? row & 7 : (row >> 1) & 3;
  return row * kRowBytes + ((chunk ^ key) << 4);
}

// One operand as cp.async reads it.
struct PlaneView {
  const std::uint8_t* data;
  std::int64_t pitch, batch_stride, plane_stride;
  std::int32_t rows;
};

struct WarpParams {
  CUtensorMap a_map, b_map;  // for loaders by TMA
  PlaneView a, b;            // for loaders by cp.async
  TileOrder order;
  Divisor batches;
  BatchMap batch;
  std::int32_t m, n;
  std::int32_t k_bytes;           // of a row
  std::int32_t blocks_per_split;  // of K, 128 bytes each
  std::uint8_t* out_bytes;        // one of the two is null
  std::int32_t* out_int32;
  std::int64_t out_pitch, out_matrix_stride;
  std::uint32_t out_matrices;  // splits * batches: matrices per out plane
  std::int32_t unit_count;
  const int* units_used;
  const GemmStep* device_steps;
  std::int32_t unit_begin[kMaxUnits + 1];
  GemmStep steps[kMaxInlineSteps];
};
static_assert(sizeof(WarpParams) < 32764, "the limit of a kernel's parameters");

// Where the tiles and barriers of a block lie: 32-bit shared-memory addresses.
template <class C>
struct SharedLayout {
  std::uint32_t base;
  __device__ __forceinline__ std::uint32_t a(std::uint32_t stage) const { return base + stage * C::kStageBytes; }
  __device__ __forceinline__ std::uint32_t b(std::uint32_t stage) const { return a(stage) + C::kStageBytesA; }
  __device__ __forceinline__ std::uint32_t full(std::uint32_t stage) const { return base + C::kBarriersAt + 8 * stage; }
  __device__ __forceinline__ std::uint32_t empty(std::uint32_t stage) const { return full(stage) + 8 * C::kStages; }
};

}  // namespace ozfp4::cuda::warp
