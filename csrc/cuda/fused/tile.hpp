// A whole product of short K in one launch: every block scales and encodes the lines of its tile, multiplies their planes and
// reconstructs, all of it on the chip. The same integers as those of the stages, so the same bits.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/fused/tile_tables.hpp"
#include "cuda/reconstruct/reconstruct.hpp"
#include "cuda/scale/scale.hpp"

namespace ozfp4::cuda {

// Whether there is a kernel, where the plan has tables: float64 of float64 operands, K up to kMostTileInner, at most 65535
// matrices.
bool can_multiply_tiles(const TileTables& tables, const ReconstructJob& job, const CapacityRule& capacity);

// What it takes on an H200 (benchmarks/small.py), in microseconds; other devices are taken to differ from it as in the stages.
double microseconds_of_tiles(const DeviceResult& result, std::int32_t inner, bool certifies, int multiprocessors);

// As launch_direct; where lines have more bits than the moduli hold, their entries are dot products of limbs. `tables`: of the
// plan. Range: can_multiply_tiles.
void launch_tiles(const TileTables& tables, const ReconstructJob& job, const CapacityRule& capacity, cudaStream_t stream,
                  const Certification* certification);

}  // namespace ozfp4::cuda
