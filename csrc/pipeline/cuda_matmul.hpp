// One matmul on the GPU: scale, encode, multiply, reconstruct, each one launch (scale and encode together where lines are
// short), nothing but launches on the stream.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "encode/cuda_encode.hpp"
#include "encode/cuda_scale_encode.hpp"
#include "multiply/cuda_schedule.hpp"
#include "plan/plan.hpp"
#include "reconstruct/cuda_reconstruct.hpp"
#include "runtime/cuda_views.hpp"
#include "scale/cuda_scale.hpp"

namespace ozfp4::cuda {

// What a plan becomes for one inner dimension; built once, reused by every call.
struct CudaPlan {
  int bits = 53;
  int k = 0;
  bool integer = false;  // INT8 x INT8 -> INT32
  Kernel kernel = Kernel::sm90;
  Schedule schedule;
  PrefixRule prefixes;
  EncodePlan encode;
  ReconstructPlan reconstruct;
};

// Throws std::invalid_argument where the kernel does not take the plan's planes, std::length_error where `k` is too long.
CudaPlan make_cuda_plan(const Plan& plan, int k, Kernel kernel);

// Where everything lies in the workspace, in bytes from its start; computed before anything is allocated.
struct CudaLayout {
  std::int32_t rows = 0, columns = 0;  // of a block of the output
  std::int64_t k_pitch = 0, out_pitch = 0;
  TileChoice tile;
  bool scales_and_encodes = false;  // in one launch
  std::int64_t units_used = 0, shift_a = 0, shift_b = 0, special_a = 0, special_b = 0, scratch = 0;
  std::int64_t planes_a = 0, planes_b = 0, outputs = 0, bytes = 0;
};

// For the current device. The largest blocks whose workspace stays at or below `cap` bytes; throws std::length_error naming the
// least workspace when even the smallest blocks do not fit.
CudaLayout make_layout(const CudaPlan& plan, const DeviceOperand& a, const DeviceOperand& b, const DeviceResult& result,
                       const Gpu& gpu, std::int64_t cap);

// Events recorded between the stages of an unblocked product, for benchmarks; any may be null. Where one launch scales and
// encodes, all of it comes after after_scale.
struct StageEvents {
  cudaEvent_t after_scale = nullptr, after_encode = nullptr, after_multiply = nullptr;
};

// Enqueues result = A B. `workspace` holds layout.bytes, aligned to 256; clear_counters: see launch_scale, null for a
// capture; device_steps: plan.schedule.steps on the device, needed where they are more than kMaxInlineSteps.
// Throws LaunchError. Range: what check_matmul lets pass, on the device of the layout.
void launch_matmul(const CudaPlan& plan, const CudaLayout& layout, const DeviceOperand& a, const DeviceOperand& b,
                   const DeviceResult& result, char* workspace, void* clear_counters, const GemmStep* device_steps,
                   cudaStream_t stream, const StageEvents& events = {});

// Throws std::invalid_argument with the stage and the reason where one would not take its part of the product; proves the
// schedule on the way. Once for a product: every launch of it is the same but for its addresses.
void check_matmul(const CudaPlan& plan, const CudaLayout& layout, const DeviceOperand& a, const DeviceOperand& b,
                  const DeviceResult& result, const GemmStep* device_steps, const Gpu& gpu);

}  // namespace ozfp4::cuda
