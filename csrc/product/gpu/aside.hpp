// Work on a device beside that of a program, which may be capturing graphs meanwhile.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/runtime/device_guard.hpp"

namespace ozfp4::product {

// A stream of the current device that waits for no other, nor others for it. While it lives the thread may allocate, free and
// wait although a graph is captured on another stream, by this thread or by any: CUDA refuses that by default, and gives the
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
    if (cudaStreamDestroy(stream_) != cudaSuccess) cudaGetLastError();  // of earlier work, which whoever waits for that is told
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

}  // namespace ozfp4::product
