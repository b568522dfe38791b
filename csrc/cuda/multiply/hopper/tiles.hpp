// The tiles of the Hopper kernel, for the host and the kernel.
#pragma once

#include <cstdint>

#include "cuda/multiply/registry.hpp"

namespace ozfp4::cuda::hopper {

inline constexpr int kBlockK = 128;  // bytes of K per stage: one row of the 128-byte swizzle, four wgmma of K = 32
inline constexpr int kSharedLimit = 232448;

// Bytes left of the output row that a staging box holds: TMA swizzles rows of 128 or 64 bytes.
constexpr int box_columns(int tile_n) { return tile_n % 128 == 0 ? 128 : 64; }

constexpr int stage_bytes(int m, int n) { return (m + n) * kBlockK; }

// Two warpgroups share a tile, half of its rows each, or take tiles alternately. Then one folds and stores while the other
// multiplies, at the price of tiles half as large. See hopper/turns.cuh.
constexpr bool takes_turns(int m, int n) { return m == 128 && n == 128; }

// Two warpgroups that share a tile multiply one after the other where the ring holds a K loop: then one folds while the other one
// has the tensor cores. Tiles of 256 x 192 gain nothing by that, those of 128 x 64 lose a tenth.
constexpr bool alternates(int m, int n) { return m == 128 && n == 256; }

// Blocks of a multiprocessor. It has several of the small tiles, which stacks of small matrices have: while one folds and stores,
// or looks up what comes next, others multiply. 4096 products of 64 x 64 x 64, 15 moduli, on an H200: 0.40 ms with one, 0.20 with
// three.
constexpr int resident_blocks(int m, int n) { return m > 64 ? 1 : n == 64 ? 3 : n == 128 ? 2 : 1; }

// As many stages as fit next to the staging area for the output (m * n bytes a tile), at most 8.
constexpr int stage_count(int m, int n) {
  const int fits = (kSharedLimit / resident_blocks(m, n) - 2048 - m * n * (takes_turns(m, n) ? 2 : 1)) / stage_bytes(m, n);
  return fits < 8 ? fits : 8;
}

// Launches with blocks that are kept together at the same time, see WaveGate.
inline constexpr int kWaveSlots = 64;

constexpr KernelTile make_tile(TileShape shape) {
  const auto [m, n, name] = tile_geometry(shape);
  return {shape, kBlockK, stage_count(m, n), resident_blocks(m, n), box_columns(n), takes_turns(m, n)};
}
inline constexpr KernelTile kTiles[kTileShapes] = {
    make_tile(TileShape::m128n256), make_tile(TileShape::m128n128), make_tile(TileShape::m128n64), make_tile(TileShape::m64n256),
    make_tile(TileShape::m64n128),  make_tile(TileShape::m64n64),   make_tile(TileShape::m256n192)};

// One variant of the kernel.
template <int kTileM, int kTileN, bool kSignedPlanes>
struct Config {
  static constexpr int kM = kTileM, kN = kTileN;
  static constexpr bool kSigned = kSignedPlanes;

  static constexpr bool kTurns = takes_turns(kM, kN);
  static constexpr int kConsumers = kM == 64 ? 1 : 2;                       // warpgroups
  static constexpr int kSlabs = kTurns ? kM / 64 : kM / (64 * kConsumers);  // of 64 rows, in the registers of one warpgroup
  static constexpr int kReaders = kTurns ? 1 : kConsumers;                  // warpgroups that read a stage
  static constexpr int kThreads = 128 * (kConsumers + 1);
  static constexpr int kBlocks = resident_blocks(kM, kN);  // of a multiprocessor
  static constexpr int kStages = stage_count(kM, kN);
  static constexpr int kAlternatingBlocks = alternates(kM, kN) ? kStages : 0;  // of K, at most
  static constexpr int kStageBytesA = kM * kBlockK, kStageBytes = stage_bytes(kM, kN);

  static constexpr int kBoxColumns = box_columns(kN), kBoxes = kN / kBoxColumns;
  static constexpr int kBoxBytes = 64 * kBoxColumns;  // 64 rows
  static constexpr int kSlabBytes = kBoxes * kBoxBytes;
  static constexpr int kStagingBytes = kSlabs * kSlabBytes;  // of one warpgroup
  static constexpr int kStagingAt = kStages * kStageBytes;
  static constexpr int kBarriersAt = kStagingAt + kConsumers * kStagingBytes;
  static constexpr int kSharedBytes = kBarriersAt + 2 * kStages * 8 + 1024;  // the base is aligned to 1024 by hand

  // 65,536 registers: one producer warpgroup needs few, the consumers hold up to 192 accumulators a thread.
  static constexpr bool kMovesRegisters = kConsumers == 2;
  static constexpr int kProducerRegisters = kM == 256 ? 24 : 40, kConsumerRegisters = kM == 256 ? 240 : 232;

  static_assert(kM == 64 || kM == 128 || kM == 256, "one or two consumer warpgroups, of one or two slabs");
  static_assert(kN == 64 || kN == 128 || kN == 192 || kN == 256, "the widths of Multiply, see ptx/wgmma.cuh");
  static_assert(kStages >= 3 && kBlocks * (kSharedBytes + 1024) <= kSharedLimit + 1024, "the pipelines do not fit");
};

}  // namespace ozfp4::cuda::hopper
