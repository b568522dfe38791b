// The families of variants, one file each: all tiles of one atom and one loader.
#pragma once

#include <cuda_runtime_api.h>

#include "multiply/cuda_gemm.hpp"

namespace ozfp4::cuda::warp {

struct WarpParams;

struct Launch {
  TileShape shape;
  int blocks;
  bool overlap_previous;  // programmatic dependent launch; from capability 9.0 on
  int device;
  cudaStream_t stream;
};

cudaError_t launch_bytes_copy(const WarpParams& params, const Launch& launch, bool is_signed);
cudaError_t launch_bytes_bulk(const WarpParams& params, const Launch& launch, bool is_signed);
cudaError_t launch_fp4(const WarpParams& params, const Launch& launch);
cudaError_t launch_stand_in_copy(const WarpParams& params, const Launch& launch);
cudaError_t launch_stand_in_bulk(const WarpParams& params, const Launch& launch);

}  // namespace ozfp4::cuda::warp
