// Multiply on tcgen05 tensor cores: B200 and B300 (sm_100, sm_103), through CUTLASS. Not run on hardware.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/multiply/contract.hpp"

namespace ozfp4::cuda::sm100 {

// Kernel::sm100_fp4, sm103_fp4 or sm100_bytes. Of the choice only splits and overlap_previous count. Neither
// synchronises nor allocates; may be captured into a graph. One launch per fold of the longest chain, more beyond
// kMaxLaunchMatrices. Throws LaunchError.
// Range: a problem that find_problem_error and find_pass_error have nothing against, elements that the kernel takes, a device
// that it runs on.
void launch(const GemmProblem& problem, const TileChoice& choice, Kernel kernel, cudaStream_t stream);

// The cost model: clocks of all launches.
double model_clocks(const GemmShape& shape, const TileChoice& choice, Kernel kernel, Element element, const Gpu& gpu);
TileChoice choose(const GemmShape& shape, Kernel kernel, Element element, const Gpu& gpu);

// Range: as above; of E2M1 codes, the same with K = 96; of bytes.
void launch_fp4(const GemmProblem& problem, const TileChoice& choice, cudaStream_t stream);
void launch_fp4_96(const GemmProblem& problem, const TileChoice& choice, cudaStream_t stream);
void launch_u8(const GemmProblem& problem, const TileChoice& choice, cudaStream_t stream);
void launch_s8(const GemmProblem& problem, const TileChoice& choice, cudaStream_t stream);

}  // namespace ozfp4::cuda::sm100
