// The launcher of the kernels that take MultiplyParams.
#pragma once

#include "cuda/launch.hpp"
#include "cuda/multiply/params.hpp"
#include "cuda/multiply/registry.hpp"

namespace ozfp4::cuda {

// Launches the variant of a kernel for a tile and an element; `how` says all but the threads and the shared memory of a block.
using Start = void (*)(const MultiplyParams& params, TileShape shape, Element element, const LaunchConfig& how);

// Throws LaunchError. Range: as launch_gemm.
void launch_params(const KernelRow& row, const GemmProblem& problem, const TileChoice& choice, cudaStream_t stream, Start start);

// The same as a Launch.
template <Start start>
void launch_with(const KernelRow& row, const GemmProblem& problem, const TileChoice& choice, cudaStream_t stream) {
  launch_params(row, problem, choice, stream, start);
}

}  // namespace ozfp4::cuda
