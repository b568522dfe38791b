// One variant of the Hopper kernel.
#pragma once

#include <cstdint>

#include "cuda/multiply/hopper/tiles.hpp"
#include "cuda/multiply/params.hpp"
#include "cuda/multiply/ptx/barrier.cuh"

namespace ozfp4::cuda::hopper {

using namespace ptx;

// The accumulators of a thread: of its slabs, kN / 2 registers each.
template <class C>
using Accumulators = std::int32_t[C::kSlabs][C::kN / 2];

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
