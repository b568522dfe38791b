// Memory of the current device that lives as long as its owner.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

#include "c_api/checked/status.hpp"
#include "cuda/layout/cuda_plan.hpp"
#include "cuda/runtime/device_guard.hpp"

namespace ozfp4::c_api {

class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    const cudaError_t error = cudaMalloc(&memory_, bytes);
    if (error == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      refuse(OZFP4_OUT_OF_MEMORY, "memory: the device has none for " + std::to_string(bytes) + " bytes");
    }
    cuda::check(error, "cudaMalloc");
  }
  ~DeviceMemory() { cudaFree(memory_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  char* get() const { return static_cast<char*>(memory_); }
  void fill(const void* from) const { cuda::check(cudaMemcpy(memory_, from, bytes_, cudaMemcpyHostToDevice), "cudaMemcpy"); }

 private:
  std::size_t bytes_;
  void* memory_ = nullptr;
};

// The schedule of a plan on the device, where it is too long for the kernel's parameters.
class DeviceSteps {
 public:
  explicit DeviceSteps(const cuda::CudaPlan& plan)
      : memory_(is_long(plan) ? plan.schedule.steps.size() * sizeof(plan.schedule.steps[0]) : 0) {
    if (is_long(plan)) memory_.fill(plan.schedule.steps.data());
  }
  static bool is_long(const cuda::CudaPlan& plan) {
    return plan.schedule.steps.size() > static_cast<std::size_t>(cuda::kMaxInlineSteps);
  }

  const GemmStep* get() const { return reinterpret_cast<const GemmStep*>(memory_.get()); }

 private:
  DeviceMemory memory_;
};

}  // namespace ozfp4::c_api
