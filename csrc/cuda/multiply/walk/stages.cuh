// The ring of stages of a block, by the configuration `C` of its kernel: where it lies, and how TMA fills it.
#pragma once

#include <cstdint>

#include "arith/host_device.hpp"
#include "cuda/multiply/launch.hpp"
#include "cuda/multiply/ptx/async.cuh"
#include "cuda/multiply/walk/steps.cuh"

namespace ozfp4::cuda {

// Where the stages, the staging boxes and the barriers lie: 32-bit shared-memory addresses.
template <class C>
struct SharedLayout {
  std::uint32_t base;  // aligned to 1024, where the swizzle starts
  __device__ __forceinline__ std::uint32_t a(std::uint32_t stage) const { return base + stage * C::kStageBytes; }
  __device__ __forceinline__ std::uint32_t b(std::uint32_t stage) const { return a(stage) + C::kStageBytesA; }
  __device__ __forceinline__ std::uint32_t staging(int group) const { return base + C::kStagingAt + group * C::kStagingBytes; }
  __device__ __forceinline__ std::uint32_t full(std::uint32_t stage) const { return base + C::kBarriersAt + 8 * stage; }
  __device__ __forceinline__ std::uint32_t empty(std::uint32_t stage) const { return full(stage) + 8 * C::kStages; }
};

// Where the stages of a step come from: first rows of the tiles, matrices of the batch, planes.
struct Source {
  int row_a, row_b;
  Operands matrix;
  int plane_a, plane_b;
};
template <class C>
__device__ __forceinline__ Source source_of(const MultiplyParams& p, const Tile& tile, int split) {
  return {static_cast<int>(tile.m) * C::kM, static_cast<int>(tile.n) * C::kN, find_operands(p, tile, split), 0, 0};
}

// Loads a stage by TMA; `k`: first byte along K. One thread calls it.
template <class C>
__device__ __forceinline__ void load_stage(const MultiplyParams& p, const SharedLayout<C>& shared, std::uint32_t stage, int k,
                                           const Source& from) {
  const std::uint32_t full = shared.full(stage);
  ptx::arrive_expecting(full, C::kStageBytes);
  ptx::load_tile(&p.a_map, shared.a(stage), full, {k, from.row_a, from.matrix.a, from.plane_a});
  ptx::load_tile(&p.b_map, shared.b(stage), full, {k, from.row_b, from.matrix.b, from.plane_b});
}

// Offset of byte 16 * chunk of a row in a tile with rows of kRowBytes bytes, 128 or 64, swizzled as by TMA. 16-byte chunks are
// exchanged within rows, so that eight rows that are read or written at once fall into different banks. The pattern repeats after
// 8 rows (of 1024, of 512 bytes).
template <int kRowBytes>
OZFP4_HD std::uint32_t swizzled_chunk(std::uint32_t row, std::uint32_t chunk) {
  const std::uint32_t key = kRowBytes == 128 ? row & 7 : (row >> 1) & 3;
  return row * kRowBytes + ((chunk ^ key) << 4);
}

}  // namespace ozfp4::cuda
