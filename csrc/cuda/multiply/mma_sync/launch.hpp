// The warp-level kernels as multiply/contract.hpp's dispatch sees them.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/multiply/contract.hpp"

namespace ozfp4::cuda::warp {

// Throws LaunchError. Range: a problem without an error, elements that the kernel takes, on a GPU that it runs on.
void launch(const GemmProblem& problem, const TileChoice& choice, Kernel kernel, cudaStream_t stream);

// The cost model: clocks of one launch.
double model_clocks(const GemmShape& shape, const TileChoice& choice, Kernel kernel, Element element, const Gpu& gpu);
TileChoice choose(const GemmShape& shape, Kernel kernel, Element element, const Gpu& gpu);

}  // namespace ozfp4::cuda::warp
