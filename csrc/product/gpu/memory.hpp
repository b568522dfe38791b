// Work on a device next to that of a program, which may be capturing graphs meanwhile, and memory for it and for products.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "cuda/runtime/device.hpp"
#include "product/refusal.hpp"

namespace ozfp4::product {

// A stream of the current device that waits for no other, nor others for it. While it lives the thread may allocate, free and
// wait although a graph is captured on another stream, by this thread or by any. CUDA refuses that by default, and gives the
// capture up.
class Aside {
 public:
  Aside() {
    exchange();
    const cudaError_t error = cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    if (error != cudaSuccess) exchange();
    cuda::check(error, "cudaStreamCreateWithFlags");
  }
  ~Aside() {
    if (cudaStreamDestroy(stream_) != cudaSuccess) cudaGetLastError();  // of earlier work, which whoever waits for that gets
    exchange();
  }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

  cudaStream_t stream() const { return stream_; }
  void wait() const { cuda::check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

 private:
  void exchange() {
    if (cudaThreadExchangeStreamCaptureMode(&mode_) != cudaSuccess) cudaGetLastError();
  }

  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;  // and then what it was before
  cudaStream_t stream_ = nullptr;
};

// Memory of the current device that lives as long as its owner. Precondition: an Aside lives while it is made and freed.
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
    if (cudaFree(memory_) != cudaSuccess) cudaGetLastError();  // of earlier work, which whoever waits for that gets
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  char* get() const { return static_cast<char*>(memory_); }
  // Waits until the bytes are there, whatever stream reads them next: a copy alone returns once it has read them.
  void fill(const void* from, const Aside& aside) const {
    cuda::check(cudaMemcpyAsync(memory_, from, bytes_, cudaMemcpyHostToDevice, aside.stream()), "cudaMemcpyAsync");
    aside.wait();
  }
  // The words that the stream leaves there.
  void read(void* to, const Aside& aside) const {
    cuda::check(cudaMemcpyAsync(to, memory_, bytes_, cudaMemcpyDeviceToHost, aside.stream()), "cudaMemcpyAsync");
    aside.wait();
  }

 private:
  std::size_t bytes_;
  void* memory_ = nullptr;
};

inline constexpr std::int64_t kSharedWorkspace = std::int64_t(1) << 20;

struct StreamMemory {
  explicit StreamMemory(const Aside& aside);

  DeviceMemory counters, workspace;
  std::mutex launching;       // held while a product is enqueued: threads on one stream enqueue one after the other
  bool is_forgotten = false;  // a launch failed on it, and its counters are no longer valid. Precondition: `launching` is held
};

// The memory of a stream of the current device, `device`. Null while the stream is captured, as a graph may run at the same time.
// Null also where the device has no memory left, and for the streams of a process beyond its first few hundred.
std::shared_ptr<StreamMemory> stream_memory(int device, cudaStream_t stream);

// Drops the memory after a launch that failed: the counters may not be zero. Precondition: `launching` is held.
void forget(const std::shared_ptr<StreamMemory>& memory);

}  // namespace ozfp4::product
