// Products of a matrix with few lines, in one pass over the matrix: its integers are formed in registers and multiplied there, in
// limbs, and no planes are written. The same integers as those that residues make, so the same bits.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cuda/reconstruct/reconstruct.hpp"
#include "cuda/runtime/export.hpp"
#include "cuda/scale/scale.hpp"

namespace ozfp4::cuda {

// Whether the current device has the kernels: clusters, FP64 additions at half the rate of others, and the shared memory.
OZFP4_CUDA_EXPORT bool has_thin_kernels();

// Whether there is a kernel for the product. It has float64 results of float64 operands or float32 of float32, capacities up to
// 82 bits, at most 8 rows of A or columns of B. K is up to what the shared memory of a cluster holds the few lines of, and there
// are at most 65535 matrices.
inline constexpr std::int32_t kMostThinLines = 8;
bool can_multiply_thinly(const ReconstructJob& job, const CapacityRule& capacity);

// Its time in microseconds on as many multiprocessors as on an H200 (benchmarks/choice.py); other devices are taken to
// differ from it as in the stages. Precondition: can_multiply_thinly.
double microseconds_of_thin(const ReconstructJob& job, bool certifies, int multiprocessors);

// Bytes that launch_thin works in, 256-byte aligned. Precondition: can_multiply_thinly.
std::int64_t thin_workspace_bytes(const ReconstructJob& job);

// Scales, multiplies and rounds: shift, special and, where they are asked for, records of both operands are written, and the
// result; `certification` as launch_reconstruct. Neither synchronises nor allocates; may be captured. Throws LaunchError.
// Precondition: can_multiply_thinly, nothing that find_reconstruct_error has a reason against but for the residues, which there
// are not.
void launch_thin(const ReconstructJob& job, const CapacityRule& capacity, char* workspace, cudaStream_t stream,
                 const Certification* certification);

}  // namespace ozfp4::cuda
