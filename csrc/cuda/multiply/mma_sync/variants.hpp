// The families of variants, one file each: all tiles of one atom and one loader. `how` says everything but the threads and the
// shared memory of a block.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/launch.hpp"
#include "cuda/multiply/contract.hpp"

namespace ozfp4::cuda::warp {

struct WarpParams;

void launch_bytes_copy(const WarpParams& params, TileShape shape, const LaunchConfig& how, bool is_signed);
void launch_bytes_bulk(const WarpParams& params, TileShape shape, const LaunchConfig& how, bool is_signed);
void launch_fp4(const WarpParams& params, TileShape shape, const LaunchConfig& how);
void launch_stand_in_copy(const WarpParams& params, TileShape shape, const LaunchConfig& how);
void launch_stand_in_bulk(const WarpParams& params, TileShape shape, const LaunchConfig& how);

}  // namespace ozfp4::cuda::warp
