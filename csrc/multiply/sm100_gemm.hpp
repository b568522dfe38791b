// Multiply on tcgen05 tensor cores: B200 and B300 (sm_100, sm_103), through CUTLASS. Not run on hardware.
#pragma once

#include <cuda_runtime_api.h>

#include "multiply/cuda_gemm.hpp"

namespace ozfp4::cuda::sm100 {

// nullptr where launch takes the problem, else the reason: one of find_problem_error, or of what the passes cannot do.
const char* find_error(const GemmProblem& problem, const TileChoice& choice);

// E2M1 codes on sm_100 and sm_103, bytes on sm_100. Of the choice only splits and overlap_previous count. Neither
// synchronises nor allocates; may be captured into a graph. One launch per fold of the longest chain.
// cudaErrorInvalidValue where find_error has a reason, cudaErrorNoKernelImageForDevice where the device is another.
cudaError_t launch(const GemmProblem& problem, const TileChoice& choice, cudaStream_t stream);

// Range: a problem that find_error has nothing against, of E2M1 codes; of bytes.
cudaError_t launch_fp4(const GemmProblem& problem, const TileChoice& choice, int device, cudaStream_t stream);
cudaError_t launch_u8(const GemmProblem& problem, const TileChoice& choice, int device, cudaStream_t stream);
cudaError_t launch_s8(const GemmProblem& problem, const TileChoice& choice, int device, cudaStream_t stream);

}  // namespace ozfp4::cuda::sm100
