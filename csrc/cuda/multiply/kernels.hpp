// What the sources of the kernels define, for the table of those that a build holds (multiply/registry.cpp).
#pragma once

#include "cuda/multiply/launch.hpp"

namespace ozfp4::cuda::hopper {
void start(const MultiplyParams& params, TileShape shape, Element element, const LaunchConfig& how);
}

namespace ozfp4::cuda::mma_sync {
void start_bytes_copy(const MultiplyParams& params, TileShape shape, Element element, const LaunchConfig& how);
void start_bytes_bulk(const MultiplyParams& params, TileShape shape, Element element, const LaunchConfig& how);
void start_fp4(const MultiplyParams& params, TileShape shape, Element element, const LaunchConfig& how);
void start_stand_in_copy(const MultiplyParams& params, TileShape shape, Element element, const LaunchConfig& how);
void start_stand_in_bulk(const MultiplyParams& params, TileShape shape, Element element, const LaunchConfig& how);
}  // namespace ozfp4::cuda::mma_sync

// Through CUTLASS, not run on hardware. Of the choice only splits and overlap_previous count. One launch per fold of the longest
// chain, more beyond kMaxLaunchMatrices. Range: also what find_pass_error has nothing against.
namespace ozfp4::cuda::tcgen05 {
void launch_fp4(const KernelRow& row, const GemmProblem& problem, const TileChoice& choice, cudaStream_t stream);
void launch_fp4_96(const KernelRow& row, const GemmProblem& problem, const TileChoice& choice, cudaStream_t stream);
void launch_bytes(const KernelRow& row, const GemmProblem& problem, const TileChoice& choice, cudaStream_t stream);
}  // namespace ozfp4::cuda::tcgen05
