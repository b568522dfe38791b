// A whole product of short K in one launch: every block scales and encodes the lines of its tile, multiplies their planes and
// reconstructs, all of it on the chip.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/fused/tile_tables.hpp"
#include "cuda/scale/scale.hpp"
#include "cuda/reconstruct/reconstruct.hpp"

namespace ozfp4::cuda {

// As launch_direct, of float64 operands and results, K up to kMostTileInner and at most 65535 matrices; `tables` of the plan for
// these capacities. Throws LaunchError.
void launch_tiles(const TileTables& tables, const ReconstructJob& job, const CapacityRule& capacity, cudaStream_t stream,
                  const Certification* certification);

}  // namespace ozfp4::cuda
