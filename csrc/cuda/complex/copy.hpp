// Copies of complex matrices, or of i times them.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/complex/matrices.hpp"

namespace ozfp4::cuda {

// Neither synchronises nor allocates; may be captured. Throws LaunchError. Range: every extent at least 1; matrices of one type,
// apart from each other.
void launch_copy(const PairExtents& extents, const PairMatrices& from, const PairMatrices& to, bool is_turned,
                 cudaStream_t stream);

}  // namespace ozfp4::cuda
