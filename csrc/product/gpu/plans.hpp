// What plans become on a GPU, made once for all products that have one: most of what a new product costs the host.
#pragma once

#include <memory>

#include "cuda/layout/cuda_plan.hpp"
#include "cuda/runtime/export.hpp"
#include "plan/plan.hpp"

namespace ozfp4::product {

// As make_cuda_plan, which throws.
OZFP4_CUDA_EXPORT std::shared_ptr<const cuda::CudaPlan> find_cuda_plan(const std::shared_ptr<const Plan>& plan, std::int64_t k,
                                                                       cuda::Kernel kernel, const cuda::Promise& promise);

}  // namespace ozfp4::product
