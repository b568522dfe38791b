// Plans as they are on a GPU, made once for all products that have one: most of what a new product costs the host. Schedules are
// on the device where they are too long for a kernel's parameters.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "cuda/layout/cuda_plan.hpp"
#include "cuda/runtime/export.hpp"
#include "plan/plan.hpp"
#include "product/gpu/device.hpp"

namespace ozfp4::product {

// As make_cuda_plan, which throws.
OZFP4_CUDA_EXPORT std::shared_ptr<const cuda::CudaPlan> find_cuda_plan(const std::shared_ptr<const Plan>& plan, std::int64_t k,
                                                                       cuda::Kernel kernel, const cuda::Promise& promise);

bool is_long(const cuda::CudaPlan& plan);

// The steps of a plan on the current device, which is this one; null where they travel with the launches. Steps of a kind are
// brought there once, on a stream aside, and stay for good: a graph that was captured reads them whenever it is
// launched. Throws Refusal Fault::unsupported where they would be brought there while `stream` is captured.
OZFP4_CUDA_EXPORT const GemmStep* steps_on(const Device& device, const cuda::CudaPlan& plan, cudaStream_t stream);

}  // namespace ozfp4::product
