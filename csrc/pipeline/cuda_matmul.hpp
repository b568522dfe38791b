// One matmul on the GPU: scale, encode, multiply, reconstruct, each one launch (scale and encode together where lines are
// short), nothing but launches on the stream.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "pipeline/cuda_blocks.hpp"

namespace ozfp4::cuda {

// Throws std::invalid_argument where the kernel does not take the plan's planes, std::length_error where `k` is too long.
CudaPlan make_cuda_plan(const Plan& plan, int k, Kernel kernel);

// Events recorded between the stages of a product in one turn, block and piece, for benchmarks; any may be null. Where one
// launch scales and encodes, all of it comes after after_scale.
struct StageEvents {
  cudaEvent_t after_scale = nullptr, after_encode = nullptr, after_multiply = nullptr;
};

// Enqueues result = A B for the matrices of one turn. `workspace` holds layout.bytes, aligned to 256; turns of one stream may
// share it. clear_counters: see launch_scale, null for a capture; device_steps: plan.schedule.steps on the device, needed where
// they are more than kMaxInlineSteps. Range: every extent >= 1; layout is make_layout's for this plan and product.
cudaError_t launch_matmul(const CudaPlan& plan, const CudaLayout& layout, const Turn& turn, char* workspace, void* clear_counters,
                          const GemmStep* device_steps, cudaStream_t stream, const StageEvents& events = {});

}  // namespace ozfp4::cuda
