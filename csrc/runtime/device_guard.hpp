// Makes a CUDA device current for a while.
#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

namespace ozfp4::cuda {

// Throws std::runtime_error with the runtime's sentence; `what` is the call that failed.
inline void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // else the caller's next look for errors, in work that has nothing to do with it, finds this one
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

class DeviceGuard {
 public:
  explicit DeviceGuard(int device) : device_(device) {
    check(cudaGetDevice(&previous_), "cudaGetDevice");
    if (previous_ != device_) check(cudaSetDevice(device_), "cudaSetDevice");
  }
  ~DeviceGuard() {
    if (previous_ != device_) cudaSetDevice(previous_);
  }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int device_, previous_ = 0;
};

}  // namespace ozfp4::cuda
