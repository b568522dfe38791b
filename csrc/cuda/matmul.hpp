// One matmul on the GPU: scale, encode, multiply, reconstruct, and repair where it is promised. Each is one launch (scale and
// encode together where lines are short), nothing but launches on the stream.
#pragma once

#include "cuda/layout/blocks.hpp"
#include "cuda/stages.hpp"

namespace ozfp4::cuda {

// Throws std::invalid_argument with the reason and the stage that has it, where a stage would not take the product as it is laid
// out, so that launch_matmul need not look. The alignment alone of the data pointers counts. Precondition: as launch_matmul.
void check_matmul(const CudaPlan& plan, const CudaLayout& layout, const CudaProduct& product, const GemmStep* device_steps,
                  const Gpu& gpu);

// Enqueues result = A B, or alpha A B + beta C, for the matrices of one turn. `workspace` holds layout.bytes, aligned to 256;
// turns of one stream may share it. device_steps: plan.schedule.steps on the device, needed where they are more than
// kMaxInlineSteps. Throws LaunchError. Precondition: every extent >= 1; layout is make_layout's for this plan and product, which
// check_matmul has nothing against.
void launch_matmul(const CudaPlan& plan, const CudaLayout& layout, const Turn& turn, char* workspace,
                   const GemmStep* device_steps, const LaunchOptions& options);

}  // namespace ozfp4::cuda
