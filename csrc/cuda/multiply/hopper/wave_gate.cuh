// Keeps the blocks of a grid together.
//
// Blocks run for milliseconds without a reason to wait for each other and drift apart; then what one of them has read has
// left L2 before the next one asks for it. At N = 16384 (15 moduli, H200) that raises the traffic of device memory from 86
// to 142 GB and costs 4-5 % of the time. So each producer reports shortly before the end of a tile, and does not begin the
// loads of the next one before all have reported. Nothing but time depends on it: a block that waits in vain for some 20 us,
// because not all of them are resident, never waits again.
#pragma once

#include <cstdint>

#include "cuda/multiply/hopper/tiles.hpp"

namespace ozfp4::cuda::hopper {

// Launches take slots in turn; one that shares its slot with another only loses the benefit.
struct WaveSlot {
  std::uint32_t reports, left;
};
static __device__ WaveSlot wave_slots[kWaveSlots];

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

}  // namespace ozfp4::cuda::hopper
