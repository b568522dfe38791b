// Memory of the current device that lives as long as its owner: of what is done aside, where it may be allocated and freed.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

#include "cuda/runtime/device_guard.hpp"
#include "product/gpu/aside.hpp"
#include "product/refusal.hpp"

namespace ozfp4::product {

class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    const cudaError_t error = cudaMalloc(&memory_, bytes);
    if (error == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      refuse(Fault::out_of_memory, "memory: the device has none for " + std::to_string(bytes) + " bytes");
    }
    cuda::check(error, "cudaMalloc");
  }
  ~DeviceMemory() {
    if (cudaFree(memory_) != cudaSuccess) cudaGetLastError();  // of earlier work, which whoever waits for that is told
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  char* get() const { return static_cast<char*>(memory_); }
  // Waits until the bytes are there, whatever stream reads them next: a copy alone returns once it has read them.
  void fill(const void* from, const Aside& aside) const {
    cuda::check(cudaMemcpyAsync(memory_, from, bytes_, cudaMemcpyHostToDevice, aside.stream()), "cudaMemcpyAsync");
    aside.wait();
  }
  // What the stream leaves there.
  void read(void* to, const Aside& aside) const {
    cuda::check(cudaMemcpyAsync(to, memory_, bytes_, cudaMemcpyDeviceToHost, aside.stream()), "cudaMemcpyAsync");
    aside.wait();
  }

 private:
  std::size_t bytes_;
  void* memory_ = nullptr;
};

}  // namespace ozfp4::product
