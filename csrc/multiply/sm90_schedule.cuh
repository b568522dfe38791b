// What the producer and the consumers of a block agree on: where things lie in shared memory, and which steps of which
// tiles come in which order.
#pragma once

#include <cstdint>

#include "multiply/sm90_config.cuh"

namespace ozfp4::cuda::sm90 {

// Position in the ring of stages. `parity` is that of the phase which fills the stage.
template <int kStages>
struct RingPosition {
  std::uint32_t stage = 0, parity = 0;
  __device__ __forceinline__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

template <class C>
struct SharedLayout {
  std::uint32_t base;
  __device__ __forceinline__ std::uint32_t a(std::uint32_t stage) const {
    return base + stage * (C::kStageBytesA + C::kStageBytesB);
  }
  __device__ __forceinline__ std::uint32_t b(std::uint32_t stage) const { return a(stage) + C::kStageBytesA; }
  __device__ __forceinline__ std::uint32_t staging(int group) const { return base + C::kStagingAt + group * C::kStagingBytes; }
  __device__ __forceinline__ std::uint32_t full(std::uint32_t stage) const { return base + C::kBarriersAt + 8 * stage; }
  __device__ __forceinline__ std::uint32_t empty(std::uint32_t stage) const { return full(stage) + 8 * C::kStages; }
};

__device__ __forceinline__ GemmStep read_step(const GemmParams& p, int index) {
  return p.device_steps != nullptr ? p.device_steps[index] : p.steps[index];
}

// The tiles of a block are first, first + stride, ... below count.
struct TileLoop {
  std::uint32_t first, stride, count;
};

// Walks the steps of those tiles.
struct Cursor {
  std::uint32_t index;
  Tile tile;
  int step, last;  // the steps of the tile's unit end before `last`

  // Range: there is at least one tile.
  __device__ __forceinline__ Cursor(const GemmParams& p, const TileLoop& tiles) : index(tiles.first) { enter(p); }

  // False after the last step of the last tile; the cursor then stays there.
  __device__ __forceinline__ bool advance(const GemmParams& p, const TileLoop& tiles) {
    if (step + 1 < last) {
      ++step;
      return true;
    }
    if (index + tiles.stride >= tiles.count) return false;
    index += tiles.stride;
    enter(p);
    return true;
  }

 private:
  __device__ __forceinline__ void enter(const GemmParams& p) {
    tile = tile_at(p.order, index);
    step = p.unit_begin[tile.unit];
    last = p.unit_begin[tile.unit + 1];
  }
};

}  // namespace ozfp4::cuda::sm90
