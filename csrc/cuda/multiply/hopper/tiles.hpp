// What the tiles of the Hopper kernel are, as the host and the kernel know them.
#pragma once

#include "cuda/multiply/registry.hpp"

namespace ozfp4::cuda::hopper {

inline constexpr int kBlockK = 128;  // bytes of K per stage: one row of the 128-byte swizzle, four wgmma of K = 32
inline constexpr int kSharedLimit = 232448;

// Bytes left of the output row that a staging box holds: TMA swizzles rows of 128 or 64 bytes.
constexpr int box_columns(int tile_n) { return tile_n % 128 == 0 ? 128 : 64; }

constexpr int stage_bytes(int m, int n) { return (m + n) * kBlockK; }

// Two warpgroups share a tile, half of its rows each, or take tiles in turns: then one folds and stores while the other
// multiplies, at the price of tiles half as large. See hopper/turns.cuh.
constexpr bool takes_turns(int m, int n) { return m == 128 && n == 128; }

// Blocks of a multiprocessor. Of the small tiles, which stacks of small matrices have, several: while one folds and stores, or
// looks up what comes next, others multiply. 4096 products of 64 x 64 x 64, 15 moduli, on an H200: 0.40 ms with one, 0.20
// with three.
constexpr int resident_blocks(int m, int n) { return m > 64 ? 1 : n == 64 ? 3 : n == 128 ? 2 : 1; }

// As many stages as fit beside the staging area for the output (m * n bytes a tile), at most 8.
constexpr int stage_count(int m, int n) {
  const int fits = (kSharedLimit / resident_blocks(m, n) - 2048 - m * n * (takes_turns(m, n) ? 2 : 1)) / stage_bytes(m, n);
  return fits < 8 ? fits : 8;
}

// Launches whose blocks are kept together at the same time, see hopper/wave_gate.cuh.
inline constexpr int kWaveSlots = 64;

constexpr KernelTile make_tile(TileShape shape, int m, int n) {
  return {shape, kBlockK, stage_count(m, n), resident_blocks(m, n), box_columns(n), takes_turns(m, n)};
}
inline constexpr KernelTile kTiles[kTileShapes] = {
    make_tile(TileShape::m128n256, 128, 256), make_tile(TileShape::m128n128, 128, 128), make_tile(TileShape::m128n64, 128, 64),
    make_tile(TileShape::m64n256, 64, 256),   make_tile(TileShape::m64n128, 64, 128),   make_tile(TileShape::m64n64, 64, 64),
    make_tile(TileShape::m256n192, 256, 192)};

}  // namespace ozfp4::cuda::hopper
