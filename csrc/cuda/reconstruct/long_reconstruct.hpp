// Reconstruct on the GPU for plans of the long form: a thread for each entry, integers of 8 words or more.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/reconstruct/reconstruct.hpp"

namespace ozfp4::cuda {

// As launch_reconstruct. Range: plan.is_long().
void launch_long_reconstruct(const ReconstructPlan& plan, const ReconstructJob& job, cudaStream_t stream);

}  // namespace ozfp4::cuda
