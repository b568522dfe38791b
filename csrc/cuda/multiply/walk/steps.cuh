// Which steps of which tiles a block computes, in which order: what loaders and multipliers of one block agree on without
// a word, for every kernel. `Params` are a kernel's parameters, as of cuda/multiply/launch.hpp.
#pragma once

#include <cstdint>

#include "cuda/multiply/contract.hpp"
#include "cuda/multiply/walk/tile_order.cuh"

namespace ozfp4::cuda {

// Position in the ring of stages. `parity` is that of the phase which fills the stage.
template <int kStages>
struct RingPosition {
  std::uint32_t stage = 0, parity = 0;
  OZFP4_HD void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
  OZFP4_HD void advance(std::uint32_t count) {
    stage += count;
    parity ^= stage / kStages & 1;
    stage %= kStages;
  }
};

template <class Params>
OZFP4_HD GemmStep read_step(const Params& p, int index) {
  return p.device_steps != nullptr ? p.device_steps[index] : p.steps[index];
}

// The leading units to compute: the device counts moduli. Precondition: kMaxUnits units at most; any count on the device.
template <class Params>
OZFP4_HD int count_units(const Params& p) {
  if (p.moduli_used == nullptr) return p.unit_count;
  const int moduli = *p.moduli_used, all = p.unit_count;
  if (moduli <= 0) return 0;
  const int units = (moduli < all ? moduli : all) * p.units_per_modulus;
  return units < all ? units : all;
}

// The K blocks of a step that belong to a split; a block is `kBlockEntries` entries long.
struct BlockRange {
  int first, count;
};
template <int kBlockEntries = 128>
OZFP4_HD BlockRange block_range(int k_begin, int k_end, int split, int blocks_per_split) {
  const int begin = k_begin / kBlockEntries, end = (k_end + kBlockEntries - 1) / kBlockEntries;
  const int split_begin = split * blocks_per_split, split_end = split_begin + blocks_per_split;
  const int first = begin > split_begin ? begin : split_begin;
  const int last = end < split_end ? end : split_end;
  return {first, last > first ? last - first : 0};
}

// The matrices of the batch that an output tile is the product of.
struct Operands {
  int a, b;
};
template <class Params>
OZFP4_HD Operands find_operands(const Params& p, const Tile& tile, int split) {
  int rest = tile.matrix - split * p.batches.constants.modulus;
  Operands matrix = {0, 0};
  for (int d = p.batch.rank - 1; d >= 0; --d) {
    const int coordinate = rest % p.batch.extent[d];
    rest /= p.batch.extent[d];
    matrix.a += coordinate * p.batch.a_stride[d];
    matrix.b += coordinate * p.batch.b_stride[d];
  }
  return matrix;
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

  // Precondition: there is at least one tile.
  template <class Params>
  OZFP4_HD Cursor(const Params& p, const TileLoop& tiles) : index(tiles.first) {
    enter(p);
  }

  // False after the last step of the last tile; the cursor then stays there.
  template <class Params>
  OZFP4_HD bool advance(const Params& p, const TileLoop& tiles) {
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
  template <class Params>
  OZFP4_HD void enter(const Params& p) {
    tile = tile_at(p.order, index);
    step = p.unit_begin[tile.unit];
    last = p.unit_begin[tile.unit + 1];
  }
};

}  // namespace ozfp4::cuda
