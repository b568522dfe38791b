// One matmul on the GPU: scale, encode, multiply, reconstruct, each one launch (scale and encode together where lines are
// short), nothing but launches on the stream.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cuda/blocks.hpp"

namespace ozfp4::cuda {

// Throws std::invalid_argument where the kernel does not take the plan's planes, std::length_error where `k` is too long.
CudaPlan make_cuda_plan(const Plan& plan, int k, Kernel kernel);

// Events recorded between the stages of a product in one turn, block and piece, for benchmarks; any may be null. Where one
// launch scales and encodes, all of it comes after after_scale.
struct StageEvents {
  cudaEvent_t after_scale = nullptr, after_encode = nullptr, after_multiply = nullptr;
};

// Throws std::invalid_argument with the reason and the stage that has it, where a stage would not take the product as it is laid
// out, so that launch_matmul need not look. Of the data pointers the alignment alone counts. Range: as launch_matmul.
void check_matmul(const CudaPlan& plan, const CudaLayout& layout, const CudaProduct& product, const GemmStep* device_steps,
                  const Gpu& gpu);

// Enqueues result = A B for the matrices of one turn. `workspace` holds layout.bytes, aligned to 256; turns of one stream may
// share it. clear_counters: see launch_scale, null for a capture; device_steps: plan.schedule.steps on the device, needed where
// they are more than kMaxInlineSteps. Throws LaunchError. Range: every extent >= 1; layout is make_layout's for this plan and
// product, which check_matmul has nothing against.
void launch_matmul(const CudaPlan& plan, const CudaLayout& layout, const Turn& turn, char* workspace, void* clear_counters,
                   const GemmStep* device_steps, cudaStream_t stream, const StageEvents& events = {});

}  // namespace ozfp4::cuda
