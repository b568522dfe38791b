// A whole product of small matrices in one launch: every entry is the dot product of its lines' integers, in machine words. The
// same integers as those that residues make, so the same bits; without planes, and so with one launch's latency.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cuda/reconstruct/reconstruct.hpp"
#include "cuda/scale/scale.hpp"

namespace ozfp4::cuda {

// Whether there is a kernel: float64 results of float64 operands or float32 of float32, capacities up to 82 bits, K up to
// kMostDirectInner, at most 65535 matrices. The bits of a line are those of `capacity`.
inline constexpr std::int32_t kMostDirectInner = 1024;
bool can_multiply_directly(const ReconstructJob& job, const CapacityRule& capacity);

// Its time in microseconds on as many multiprocessors as on an H200 (benchmarks/choice.py); other devices are taken to
// differ from it as in the stages.
double microseconds_directly(const DeviceResult& result, std::int32_t inner, bool certifies, int multiprocessors);

// Scales, multiplies and rounds: shift, special and, where they are asked for, records of both operands are written, and the
// result; `certification` and `update` (null: none) as launch_reconstruct.
// Neither synchronises nor allocates; may be captured. Throws LaunchError. Precondition: can_multiply_directly, nothing that
// find_reconstruct_error has a reason against but for the residues, which there are not.
void launch_direct(const ReconstructJob& job, const CapacityRule& capacity, cudaStream_t stream,
                   const Certification* certification, const DeviceUpdate* update = nullptr);

// The same for integers: whether there is a kernel, for operands of 64 bits, K up to kMostDirectInner, at most 65535 matrices.
// The launch stores the part of the exact product that the result's type keeps: its low bits. The job's views alone count.
bool can_multiply_integers_directly(const ReconstructJob& job);
void launch_direct_integers(const ReconstructJob& job, cudaStream_t stream);

}  // namespace ozfp4::cuda
