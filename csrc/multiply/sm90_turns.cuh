// Two warpgroups that take tiles in turns: while one of them folds and stores, the other one has the tensor cores.
//
// The tiles index and index + stride of a block form a pair, the last tile may be alone. Their steps go through the ring of
// stages in the order of both: first step of the first tile, first of the second, second of the first, ... A warpgroup
// computes the steps of its own tile and leaves the stages of the others alone. It begins a step when the one before has been
// issued, not earlier: stages of two steps ahead would have the parity of those two behind.
#pragma once

#include <cstdint>

#include "multiply/sm90_barrier.cuh"
#include "multiply/step_walk.cuh"

namespace ozfp4::cuda::sm90 {

// The steps of one warpgroup: of all tiles, and nobody else's in between.
class AllSteps {
 public:
  template <class Params>
  __device__ __forceinline__ AllSteps(const Params& p, const TileLoop& tiles, int)
      : cursor_(p, tiles), exists_(tiles.first < tiles.count) {}

  __device__ __forceinline__ bool exists() const { return exists_; }
  __device__ __forceinline__ const Tile& tile() const { return cursor_.tile; }
  __device__ __forceinline__ int step() const { return cursor_.step; }
  template <class Params>
  __device__ __forceinline__ void advance(const Params& p, const TileLoop& tiles) {
    exists_ = cursor_.advance(p, tiles);
  }
  template <class Ring>
  __device__ __forceinline__ void begin(Ring&) const {}
  __device__ __forceinline__ bool hands_over() const { return false; }
  __device__ __forceinline__ void hand_over() const {}

 private:
  Cursor cursor_;
  bool exists_;
};

// Those of warpgroup `group`, 0 or 1, of two that take turns.
class EverySecondTile {
 public:
  template <class Params>
  __device__ __forceinline__ EverySecondTile(const Params& p, const TileLoop& tiles, int group)
      : first_(tiles.first), group_(group) {
    enter(p, tiles);
  }

  __device__ __forceinline__ bool exists() const { return exists_; }
  __device__ __forceinline__ const Tile& tile() const { return tile_; }
  __device__ __forceinline__ int step() const { return step_; }

  template <class Params>
  __device__ __forceinline__ void advance(const Params& p, const TileLoop& tiles) {
    stages_ = steps_ = 0;
    if (step_ + 1 < last_) {
      ++step_;
      leave_one(p);
      return;
    }
    while (other_step_ < other_last_) leave_one(p);
    first_ += 2 * tiles.stride;
    enter(p, tiles);
  }

  // Before the first stage of a step.
  template <class Ring>
  __device__ __forceinline__ void begin(Ring& ring) const {
    if (steps_ == 0) return;
    named_sync(kTurnBarrier + group_, 256);
    ring.advance(stages_);
  }

  // Whether a step of the other warpgroup follows the present one; if so, to be called when that has been issued.
  __device__ __forceinline__ bool hands_over() const { return is_followed_; }
  __device__ __forceinline__ void hand_over() const { named_arrive(kTurnBarrier + 1 - group_, 256); }

 private:
  static constexpr int kTurnBarrier = 3;  // and 4; the staging boxes have 1 and 2

  template <class Params>
  __device__ __forceinline__ void enter(const Params& p, const TileLoop& tiles) {
    const std::uint32_t own = first_ + (group_ == 0 ? 0 : tiles.stride), other = first_ + (group_ == 0 ? tiles.stride : 0);
    exists_ = own < tiles.count;
    if (!exists_) return;
    tile_ = tile_at(p.order, own);
    step_ = p.unit_begin[tile_.unit];
    last_ = p.unit_begin[tile_.unit + 1];
    other_step_ = other_last_ = 0;
    if (other < tiles.count) {
      const Tile tile = tile_at(p.order, other);
      other_step_ = p.unit_begin[tile.unit];
      other_last_ = p.unit_begin[tile.unit + 1];
      other_split_ = divide(tile.matrix, p.batches);
    }
    has_next_ = first_ + 2 * tiles.stride < tiles.count;
    if (group_ != 0) leave_one(p);
    note_follower();
  }

  // The other warpgroup's next step comes before this one's, if there is one.
  template <class Params>
  __device__ __forceinline__ void leave_one(const Params& p) {
    if (other_step_ < other_last_) {
      const GemmStep step = read_step(p, other_step_++);
      stages_ += block_range(step.k_begin, step.k_end, other_split_, p.blocks_per_split).count;
      ++steps_;
    }
    note_follower();
  }

  __device__ __forceinline__ void note_follower() {
    is_followed_ = other_step_ < other_last_ || (group_ != 0 && step_ + 1 == last_ && has_next_);
  }

  std::uint32_t first_;  // tile of the pair
  int group_;
  Tile tile_;
  int step_ = 0, last_ = 0;
  int other_step_ = 0, other_last_ = 0, other_split_ = 0;
  std::uint32_t stages_ = 0;
  int steps_ = 0;  // of the other warpgroup, between this one's
  bool exists_ = false, is_followed_ = false, has_next_ = false;
};

}  // namespace ozfp4::cuda::sm90
