// What a device of this process is to the kernels.
#pragma once

#include "cuda/device_guard.hpp"
#include "cuda/multiply/contract.hpp"

namespace ozfp4::cuda {

// Throws std::runtime_error where there is no such device.
inline Gpu gpu_of(int device) {
  int major = 0, minor = 0;
  Gpu gpu;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "cudaDeviceGetAttribute");
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), "cudaDeviceGetAttribute");
  check(cudaDeviceGetAttribute(&gpu.multiprocessors, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
  check(cudaDeviceGetAttribute(&gpu.shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "cudaDeviceGetAttribute");
  gpu.capability = 10 * major + minor;
  return gpu;
}

}  // namespace ozfp4::cuda
