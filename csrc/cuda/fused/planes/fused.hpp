// Multiply and reconstruct in one launch, for outputs so large and K so short that bytes of residues written and read again would
// take most of the time.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/multiply/contract.hpp"
#include "cuda/reconstruct/reconstruct.hpp"

namespace ozfp4::cuda {

// Whether there is a kernel: on Hopper, for residues of one product each, of at most 16 moduli.
bool can_fuse(Kernel kernel, const Schedule& schedule, const ReconstructPlan& plan);

// Whether one launch takes less time than two, of so many multiprocessors (measured on an H200).
bool pays_fused(std::int64_t rows, std::int64_t columns, std::int64_t inner, std::int64_t matrices, int multiprocessors);

// The same as launch_gemm and launch_reconstruct behind it; `out` of the problem and the residues of the job are not used. At a
// count of moduli that `certification` is not for it ends at once. Neither synchronises nor allocates; may be captured. Throws
// LaunchError. Range: can_fuse, nothing that find_launch_error or find_reconstruct_error has a reason against.
void launch_fused(const ReconstructPlan& plan, const GemmProblem& problem, const ReconstructJob& job, cudaStream_t stream,
                  const Certification* certification = nullptr);

}  // namespace ozfp4::cuda
