// What the fused kernel is given, and how a block of it is laid out.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "cuda/multiply/contract.hpp"
#include "cuda/multiply/hopper/tiles.hpp"
#include "cuda/multiply/ptx/barrier.cuh"
#include "cuda/multiply/walk/tile_order.cuh"
#include "cuda/reconstruct/shape.cuh"

namespace ozfp4::cuda::fused_planes {

using namespace ptx;
using hopper::kBlockK;

inline constexpr int kMostModuli = kRowsPerStep;  // residues of an entry: 16 bytes in registers

// Two consumer warpgroups of 64 x 64 each and a producer. A thread holds the residues of 32 entries in 128 registers, so tiles
// are no larger. Named as walk/shared_layout.cuh wants it.
struct Config {
  static constexpr int kM = 128, kN = 64;
  static constexpr int kConsumers = kM / 64;
  static constexpr int kThreads = 128 * (kConsumers + 1);
  static constexpr int kStages = 8;
  static constexpr int kStageBytesA = kM * kBlockK, kStageBytes = hopper::stage_bytes(kM, kN);
  static constexpr int kWeightsAt = kStages * kStageBytes, kWeightBytes = kN * 128;  // of the columns, see planes/columns.cuh
  static constexpr int kBarriersAt = kWeightsAt + kWeightBytes;
  static constexpr int kSharedBytes = kBarriersAt + 2 * kStages * 8 + 1024;  // the base is aligned to 1024 by hand
  static constexpr int kEntries = kN / 2;                                    // of a thread
  static constexpr int kProducerRegisters = 24, kConsumerRegisters = 240;
};

// `rest.job` names the operands and the result; `steps` are one for each modulus.
template <class S>
struct Parameters {
  CUtensorMap a_map, b_map;
  TileOrder order;
  Divisor batches;
  BatchMap batch;
  std::uint32_t tiles;
  std::int32_t k_blocks;
  GemmStep steps[kMostModuli];
  short_form::Parameters<S> rest;
};

// Of a warp's part of a tile: the exponents of its columns, less the shift of the constants, and the shifts of its rows.
struct WarpScales {
  alignas(8) std::int32_t exponent[Config::kN];
  std::int32_t row_shift[16];
  std::int32_t test[16];  // where entries are certified: of the rows, see planes/certify.cuh
};

// In shared memory beside the stages.
template <class S>
struct Shared {
  alignas(16) std::uint32_t table[S::table_words];
  WarpScales scales[4 * Config::kConsumers];
};

// Where a warp works: 16 rows of 64 columns.
struct Place {
  std::int32_t matrix, first_row, first_column;
};

}  // namespace ozfp4::cuda::fused_planes
