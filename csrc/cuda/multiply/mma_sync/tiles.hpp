// How each tile is cut among the warps of a block, for every atom and loader.
#pragma once

#include "cuda/multiply/registry.hpp"

namespace ozfp4::cuda::mma_sync {

struct WarpShape {
  int m, n;
  int warps_m, warps_n;  // multiplier warps along each
  int row_bytes;         // of K in a stage
  int stages;
  int blocks;  // on a multiprocessor, at least
};

inline constexpr int kShapeCount = 6;

// In the order of TileShape, its first six. Warps hold 64 x 64 where they can: then they read 8 fragments from shared memory for
// 32 multiplications. Two blocks on a multiprocessor multiply while the other one folds.
inline constexpr WarpShape kShapes[kShapeCount] = {
    {128, 256, 2, 4, 64, 4, 1}, {128, 128, 2, 2, 64, 3, 2}, {128, 64, 2, 2, 64, 4, 2},
    {64, 256, 1, 4, 64, 4, 1},  {64, 128, 2, 2, 64, 4, 2},  {64, 64, 2, 2, 64, 6, 2},
};

// Shared memory of a multiprocessor of sm_86, sm_89 and sm_120, and what each resident block takes of it beyond its own; every
// variant keeps to it on every GPU.
inline constexpr int kSharedOfMultiprocessor = 102400, kSharedOfBlock = 1024;

constexpr KernelTile make_tile(TileShape shape) {
  const WarpShape& warps = kShapes[static_cast<int>(shape)];
  return {shape, warps.row_bytes, warps.stages * warps.row_bytes / 128, warps.blocks};
}
inline constexpr KernelTile kTiles[kShapeCount] = {make_tile(TileShape::m128n256), make_tile(TileShape::m128n128),
                                                   make_tile(TileShape::m128n64),  make_tile(TileShape::m64n256),
                                                   make_tile(TileShape::m64n128),  make_tile(TileShape::m64n64)};

}  // namespace ozfp4::cuda::mma_sync
