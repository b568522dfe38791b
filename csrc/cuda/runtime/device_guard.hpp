// Makes a CUDA device current for a while.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "cuda/runtime/export.hpp"

namespace ozfp4::cuda {

// Throws std::runtime_error with the runtime's sentence; `what` is the call that failed.
void check(cudaError_t error, const char* what);

// Makes a device current for its lifetime. What this library's runtime, linked statically, shares with others is the driver's
// current context alone, and that is what comes back: cudaSetDevice would make a context on a device without one.
class DeviceGuard {
 public:
  OZFP4_CUDA_EXPORT explicit DeviceGuard(int device);
  OZFP4_CUDA_EXPORT ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  CUcontext previous_ = nullptr;
  bool has_changed_ = false;
};

}  // namespace ozfp4::cuda
