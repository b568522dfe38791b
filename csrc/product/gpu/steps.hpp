// Schedules on the device, where they are too long for a kernel's parameters.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/layout/cuda_plan.hpp"
#include "cuda/runtime/export.hpp"
#include "product/gpu/device.hpp"

namespace ozfp4::product {

bool is_long(const cuda::CudaPlan& plan);

// The steps of a plan on the current device, which is this one; null where they travel with the launches. Steps of a kind are
// brought there once, on a stream aside, and stay for good: a graph that was captured reads them whenever it is
// launched. Throws Refusal Fault::unsupported where they would be brought there while `stream` is captured.
OZFP4_CUDA_EXPORT const GemmStep* steps_on(const Device& device, const cuda::CudaPlan& plan, cudaStream_t stream);

}  // namespace ozfp4::product
