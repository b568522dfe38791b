// The producer: one thread that fills the ring of stages, tile after tile; and what keeps the producers of a grid together.
#pragma once

#include <cstdint>

#include "cuda/multiply/hopper/tiles.hpp"
#include "cuda/multiply/ptx/async.cuh"
#include "cuda/multiply/walk/stages.cuh"
#include "cuda/multiply/walk/steps.cuh"

namespace ozfp4::cuda::hopper {

// A slot of a launch with blocks that are kept together. Launches take slots in turn; one that shares its slot with another only
// loses the benefit.
struct WaveSlot {
  std::uint32_t reports, left;
};
static __device__ WaveSlot wave_slots[kWaveSlots];

// Keeps the blocks of a grid together.
//
// Blocks run for milliseconds without a reason to wait for each other and drift apart. Then the data that one of them has read
// have left L2 before the next one loads them. At N = 16384 (15 moduli, H200) that raises the traffic of device memory from 86 to
// 142 GB and costs 4-5 % of the time. So each producer reports shortly before the end of a tile, and does not begin the loads of
// the next one before all have reported. Nothing but time depends on it: a block that waits in vain for some 20 us, because not
// all of them are resident, never waits again.
class WaveGate {
 public:
  static constexpr int kLead = 4;  // in K blocks: the report is under way while these are loaded

  // slot: negative for no gate. Precondition: all `members` blocks of the grid use one; leave() hands the slot back.
  __device__ __forceinline__ WaveGate(int slot, std::uint32_t members)
      : slot_(slot < 0 ? nullptr : &wave_slots[slot]), members_(members), is_waiting_(slot >= 0) {}

  __device__ __forceinline__ void report() {
    if (slot_ != nullptr) atomicAdd(&slot_->reports, 1u);
  }
  __device__ __forceinline__ void wait() {
    if (!is_waiting_) return;
    expected_ += members_;
    for (int i = 0; i < 40; ++i) {
      const std::uint32_t reports = *const_cast<volatile std::uint32_t*>(&slot_->reports);
      if (static_cast<std::int32_t>(reports - expected_) >= 0) return;
    }
    is_waiting_ = false;
  }
  __device__ __forceinline__ void leave() {
    if (slot_ == nullptr || atomicInc(&slot_->left, members_ - 1) + 1 < members_) return;
    atomicExch(&slot_->reports, 0u);
  }

 private:
  WaveSlot* slot_;
  std::uint32_t members_, expected_ = 0;
  bool is_waiting_;
};

using namespace ptx;

template <class C>
class Producer {
 public:
  __device__ __forceinline__ Producer(const MultiplyParams& p, const SharedLayout<C>& shared, const TileLoop& tiles)
      : p_(p), shared_(shared), gate_(p.wave_slot, tiles.stride) {}

  __device__ __forceinline__ void run(const TileLoop& tiles) {
    constexpr std::uint32_t together = C::kTurns ? 2 : 1;  // tiles with steps that alternate, see hopper/turns.cuh
    for (std::uint32_t index = tiles.first; index < tiles.count; index += together * tiles.stride) {
      if (index != tiles.first) gate_.wait();
      Steps steps[together];
#pragma unroll
      for (std::uint32_t t = 0; t < together; ++t) steps[t] = steps_of(index + t * tiles.stride, tiles.count);
      bool is_done = false;
      while (!is_done) {
        is_done = true;
#pragma unroll
        for (std::uint32_t t = 0; t < together; ++t) {
          if (steps[t].step < steps[t].last) load_step(steps[t]);
          is_done = is_done && steps[t].step == steps[t].last;
        }
      }
    }
    gate_.leave();
  }

 private:
  // The steps of a tile; the next one is `step`.
  struct Steps {
    Source source;
    int split, step, last;
  };

  __device__ __forceinline__ Steps steps_of(std::uint32_t index, std::uint32_t count) const {
    if (C::kTurns && index >= count) return {};
    const Tile tile = tile_at(p_.order, index);
    const int split = divide(tile.matrix, p_.batches);
    return {source_of<C>(p_, tile, split), split, p_.unit_begin[tile.unit], p_.unit_begin[tile.unit + 1]};
  }

  __device__ __forceinline__ void load_step(Steps& from) {
    const GemmStep step = read_step(p_, from.step++);
    from.source.plane_a = step.a_plane;
    from.source.plane_b = step.b_plane;
    const bool is_last = from.step == from.last;
    const BlockRange range = block_range(step.k_begin, step.k_end, from.split, p_.blocks_per_split);
    const int report_at = is_last ? max(0, range.count - WaveGate::kLead) : -1;
    for (int i = 0; i < range.count; ++i) {
      if (i == report_at) gate_.report();
      const int k = (range.first + i) * kBlockK;
      wait_barrier(shared_.empty(ring_.stage), ring_.parity ^ 1);
      load_stage(p_, shared_, ring_.stage, k, from.source);
      ring_.advance();
    }
    if (is_last && range.count == 0) gate_.report();
  }

  const MultiplyParams& p_;
  const SharedLayout<C>& shared_;
  RingPosition<C::kStages> ring_;
  WaveGate gate_;
};

}  // namespace ozfp4::cuda::hopper
