// What the launchers of the CUDA multiply kernels share.
#pragma once

#include <cstdint>

#include "arith/multiples.hpp"
#include "cuda/multiply/contract.hpp"

namespace ozfp4::cuda {

// Output matrices before splitting.
int batch_count(const BatchMap& batch);

// Whether the steps store int32 instead of bytes. Range: a problem without an error.
bool stores_words(const GemmProblem& problem);

// The strides of an operand, also where the contract lets the caller leave 0.
std::int64_t batch_stride(const PlaneArray& operand, int rows);
std::int64_t plane_stride(const PlaneArray& operand, int rows);

}  // namespace ozfp4::cuda
