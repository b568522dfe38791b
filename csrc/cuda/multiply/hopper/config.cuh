// One kernel variant, and what all variants receive.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "cuda/multiply/contract.hpp"
#include "cuda/multiply/walk/tile_order.cuh"

namespace ozfp4::cuda::sm90 {

// The accumulators of a thread: of its slabs, kN / 2 registers each.
template <class C>
using Accumulators = std::int32_t[C::kSlabs][C::kN / 2];

inline constexpr int kBlockK = 128;  // bytes of K per stage: one row of the 128-byte swizzle, four wgmma of K = 32
inline constexpr int kSharedLimit = 232448;

// Bytes left of the output row that a staging box holds: TMA swizzles rows of 128 or 64 bytes.
constexpr int box_columns(int tile_n) { return tile_n % 128 == 0 ? 128 : 64; }

constexpr int stage_bytes(int m, int n) { return (m + n) * kBlockK; }

// Two warpgroups share a tile, 64 rows each, or take tiles in turns: then one folds and stores while the other multiplies, at
// the price of tiles half as large. See hopper/turns.cuh.
constexpr bool takes_turns(int m, int n) { return m == 128 && n == 128; }

// As many stages as fit beside the staging area for the output (m * n bytes a tile), at most 8.
constexpr int stage_count(int m, int n) {
  const int fits = (kSharedLimit - 2048 - m * n * (takes_turns(m, n) ? 2 : 1)) / stage_bytes(m, n);
  return fits < 8 ? fits : 8;
}

template <int kTileM, int kTileN, bool kSignedPlanes>
struct Config {
  static constexpr int kM = kTileM, kN = kTileN;
  static constexpr bool kSigned = kSignedPlanes;

  static constexpr bool kTurns = takes_turns(kM, kN);
  static constexpr int kConsumers = kM / 64;                // warpgroups
  static constexpr int kSlabs = kTurns ? kM / 64 : 1;       // of 64 rows, in the registers of one warpgroup
  static constexpr int kReaders = kTurns ? 1 : kConsumers;  // warpgroups that read a stage
  static constexpr int kThreads = 128 * (kConsumers + 1);
  static constexpr int kStages = stage_count(kM, kN);
  static constexpr int kStageBytesA = kM * kBlockK, kStageBytesB = kN * kBlockK;

  static constexpr int kBoxColumns = box_columns(kN), kBoxes = kN / kBoxColumns;
  static constexpr int kBoxBytes = 64 * kBoxColumns;  // 64 rows
  static constexpr int kSlabBytes = kBoxes * kBoxBytes;
  static constexpr int kStagingBytes = kSlabs * kSlabBytes;  // of one warpgroup
  static constexpr int kStagingAt = kStages * (kStageBytesA + kStageBytesB);
  static constexpr int kBarriersAt = kStagingAt + kConsumers * kStagingBytes;
  static constexpr int kSharedBytes = kBarriersAt + 2 * kStages * 8 + 1024;  // the base is aligned to 1024 by hand

  // 65,536 registers: one producer warpgroup needs few, the consumers hold up to 128 accumulators a thread.
  static constexpr bool kMovesRegisters = kConsumers == 2;
  static constexpr int kProducerRegisters = 40, kConsumerRegisters = 232;

  static_assert(kM == 64 || kM == 128, "one or two consumer warpgroups");
  static_assert(kN == 64 || kN == 128 || kN == 256, "the widths of Multiply, see ptx/wgmma.cuh");
  static_assert(kStages >= 3 && kSharedBytes <= kSharedLimit, "the pipeline does not fit");
};

struct GemmParams {
  CUtensorMap a_map, b_map, out_map;
  TileOrder order;
  Divisor batches;
  BatchMap batch;
  std::int32_t m, n;
  std::int32_t blocks_per_split;  // of K, kBlockK bytes each
  std::int32_t wave_slot;         // negative: blocks are not kept together, see hopper/wave_gate.cuh
  std::int32_t* out_int32;
  std::int64_t out_pitch, out_matrix_stride;
  std::uint32_t out_matrices;  // splits * batches: matrices per out plane
  std::int32_t unit_count;
  const int* units_used;
  const GemmStep* device_steps;
  std::int32_t unit_begin[kMaxUnits + 1];
  GemmStep steps[kMaxInlineSteps];
};

}  // namespace ozfp4::cuda::sm90
