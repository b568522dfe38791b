// Devices as the runtime and the driver know them, and numbers of devices and streams.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>

#include "cuda/runtime/export.hpp"

namespace ozfp4::cuda {

// Throws std::runtime_error with the runtime's sentence; `what` is the call that failed.
void check(cudaError_t error, const char* what);

// The driver's function of this name, found at run time so that nothing links libcuda; null where there is none.
void* find_driver_function(const char* name);
template <class Function>
Function* driver_function(const char* name) {
  return reinterpret_cast<Function*>(find_driver_function(name));
}

// Makes a device current for its lifetime. This library's runtime, linked statically, shares with others the driver's current
// context alone, and that is what comes back: cudaSetDevice would make a context on a device without one.
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

// A number of the runtime about a device. Throws std::runtime_error where there is no such device.
OZFP4_CUDA_EXPORT int attribute_of(int device, cudaDeviceAttr attribute);

// A stream's number. Unique in the process for all time, as the stream's address is not; -1 where the stream is being captured,
// or unknown.
std::int64_t stream_id(cudaStream_t stream, int device);

}  // namespace ozfp4::cuda
