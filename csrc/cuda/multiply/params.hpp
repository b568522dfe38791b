// What the hopper and mma_sync kernels receive: a problem, made ready for whatever way they load and store it.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "cuda/multiply/contract.hpp"
#include "cuda/multiply/walk/tile_order.cuh"

namespace ozfp4::cuda {

struct MultiplyParams {
  CUtensorMap a_map, b_map, out_map;  // for kernels that load, and that store bytes, by TMA
  PlaneArray a, b;                    // for those that load by cp.async
  TileOrder order;
  Divisor batches;
  BatchMap batch;
  std::int32_t m, n;
  std::int32_t k_bytes;           // of a row
  std::int32_t blocks_per_split;  // of K, 128 bytes each
  std::int32_t wave_slot;         // negative: blocks are not kept together, see hopper/wave_gate.cuh
  std::uint8_t* out_bytes;        // one of the two is null
  std::int32_t* out_int32;
  std::int64_t out_pitch, out_matrix_stride;
  std::uint32_t out_matrices;  // splits * batches: matrices per out plane
  std::int32_t unit_count, units_per_modulus;
  const int* moduli_used;
  const GemmStep* device_steps;
  std::int32_t unit_begin[kMaxUnits + 1];
  GemmStep steps[kMaxInlineSteps];
};
static_assert(sizeof(MultiplyParams) < 32764, "the limit of a kernel's parameters");

}  // namespace ozfp4::cuda
