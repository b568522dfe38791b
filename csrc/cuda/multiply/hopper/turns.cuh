// Two warpgroups that take tiles alternately: while one of them folds and stores, the other one has the tensor cores.
//
// The tiles index and index + stride of a block form a pair, the last tile may be alone. Their steps go through the ring of
// stages in the order of both: first step of the first tile, first of the second, second of the first, ... A warpgroup computes
// the steps of its tile and leaves the stages of the others alone. It begins a step when the one before has been issued, not
// earlier. Then all earlier stages have been full, and the parity of one turn of the ring is not taken for that of two turns
// later. Between two hand-overs to a warpgroup it hands over itself, after it has waited for the first one: so a named barrier
// never counts two of them. tests/cuda/multiply/hopper/turns_check.cu plays it through.
#pragma once

#include <cstdint>

#include "cuda/multiply/ptx/async.cuh"
#include "cuda/multiply/walk/steps.cuh"

namespace ozfp4::cuda::hopper {

inline constexpr int kTurnBarrier = 3;  // of warpgroup 0, and 4; the staging boxes have 1 and 2

// The steps of a warpgroup that shares all tiles. Two of them alternate, that is, multiply one after the other, where a K loop
// has kMostBlocks stages at most. The ring must hold those: the first warpgroup reads all of them before the second one begins.
template <int kMostBlocks>
class AllSteps {
 public:
  template <class Params>
  OZFP4_HD AllSteps(const Params& p, const TileLoop& tiles, int group)
      : cursor_(p, tiles), blocks_(p.blocks_per_split), group_(group), exists_(tiles.first < tiles.count) {}

  OZFP4_HD bool exists() const { return exists_; }
  OZFP4_HD const Tile& tile() const { return cursor_.tile; }
  OZFP4_HD int step() const { return cursor_.step; }
  template <class Params>
  OZFP4_HD void advance(const Params& p, const TileLoop& tiles) {
    exists_ = cursor_.advance(p, tiles);
  }

  // Before the first stage of a step.
  template <class Ring>
  __device__ __forceinline__ void begin(Ring&) const {
    if (waits()) ptx::named_sync(kTurnBarrier + group_, 256);
  }
  OZFP4_HD bool waits() const { return kMostBlocks > 0 && blocks_ <= kMostBlocks; }

  // Whether a step of the other warpgroup follows: before the first step, and when one has been issued and advance() called.
  OZFP4_HD bool hands_over_first() const { return waits() && group_ != 0; }
  OZFP4_HD bool hands_over() const { return waits() && (group_ == 0 || exists_); }
  __device__ __forceinline__ void hand_over() const { ptx::named_arrive(kTurnBarrier + 1 - group_, 256); }

 private:
  Cursor cursor_;
  const std::int32_t& blocks_;  // of K of a step, at most
  int group_;
  bool exists_;
};

// The tiles of warpgroup `group`, 0 or 1, of two that take turns.
class EverySecondTile {
 public:
  template <class Params>
  OZFP4_HD EverySecondTile(const Params& p, const TileLoop& tiles, int group) : first_(tiles.first), group_(group) {
    enter(p, tiles);
  }

  OZFP4_HD bool exists() const { return exists_; }
  OZFP4_HD const Tile& tile() const { return tile_; }
  OZFP4_HD int step() const { return step_; }

  template <class Params>
  OZFP4_HD void advance(const Params& p, const TileLoop& tiles) {
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
    if (!waits()) return;
    ptx::named_sync(kTurnBarrier + group_, 256);
    ring.advance(stages_before());
  }

  // Whether a step of the other warpgroup follows the present one; if so, to be called when that has been issued.
  OZFP4_HD bool hands_over() const { return is_followed_; }
  OZFP4_HD bool hands_over_first() const { return false; }
  __device__ __forceinline__ void hand_over() const { ptx::named_arrive(kTurnBarrier + 1 - group_, 256); }

  // Whether steps of the other warpgroup lie between the one before and the present one, and the stages of those.
  OZFP4_HD bool waits() const { return steps_ != 0; }
  OZFP4_HD std::uint32_t stages_before() const { return stages_; }

 private:
  template <class Params>
  OZFP4_HD void enter(const Params& p, const TileLoop& tiles) {
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
  OZFP4_HD void leave_one(const Params& p) {
    if (other_step_ < other_last_) {
      const GemmStep step = read_step(p, other_step_++);
      stages_ += block_range(step.k_begin, step.k_end, other_split_, p.blocks_per_split).count;
      ++steps_;
    }
    note_follower();
  }

  OZFP4_HD void note_follower() { is_followed_ = other_step_ < other_last_ || (group_ != 0 && step_ + 1 == last_ && has_next_); }

  std::uint32_t first_;  // tile of the pair
  int group_;
  Tile tile_;
  int step_ = 0, last_ = 0;
  int other_step_ = 0, other_last_ = 0, other_split_ = 0;
  std::uint32_t stages_ = 0;
  int steps_ = 0;  // of the other warpgroup, between this one's
  bool exists_ = false, is_followed_ = false, has_next_ = false;
};

}  // namespace ozfp4::cuda::hopper
