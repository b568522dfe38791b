// A whole product of short K in one launch. Every block scales the lines of its tile, cuts their integers into limbs, multiplies
// these and rounds, all of it on the chip. The same integers as those of the stages, so the same bits.
#pragma once

#include <cuda_runtime_api.h>

#include "arith/limbs/signed_bytes.hpp"
#include "cuda/reconstruct/reconstruct.hpp"
#include "cuda/scale/scale.hpp"
#include "plan/plan.hpp"

namespace ozfp4::cuda {

inline constexpr int kMostTileInner = 256;

// Limbs of the kernel's integers in products by a plan, K = k, of lines of `bits` bits. 0: the kernel is not for them, nor for
// plans of another scheme or alphabet than INT8 residues, of complex numbers or of parts.
int tile_limbs(const Plan& plan, int k, int bits);

// Whether the kernel takes the operands, of a plan that has limbs: float64 and a result of float64, K up to kMostTileInner, at
// most 65535 matrices; not to accuracy "correct".
bool can_multiply_tiles(int limbs, const ReconstructJob& job, const CapacityRule& capacity);

struct TileDevice {
  int multiprocessors, shared_bytes;  // bytes: that a block may have, 99 KiB or more
};

// Its time in microseconds on an H200 (benchmarks/choice.py); other devices are taken to differ from it as in the stages.
double microseconds_of_tiles(int limbs, const DeviceResult& result, std::int32_t inner, bool certifies, const TileDevice& device);

// As launch_direct; the list has all entries of the rows that the lines of a tile do not certify. `limbs`: of tile_limbs; where
// entries are certified there are eight. Precondition: can_multiply_tiles.
void launch_tiles(int limbs, const ReconstructJob& job, const CapacityRule& capacity, cudaStream_t stream,
                  const Certification* certification);

}  // namespace ozfp4::cuda
