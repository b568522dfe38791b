// What a device of this process is to the kernels.
#pragma once

#include "cuda/multiply/contract.hpp"
#include "cuda/runtime/attribute.hpp"

namespace ozfp4::cuda {

// Throws std::runtime_error where there is no such device.
inline Gpu gpu_of(int device) {
  Gpu gpu;
  gpu.capability =
      10 * attribute_of(device, cudaDevAttrComputeCapabilityMajor) + attribute_of(device, cudaDevAttrComputeCapabilityMinor);
  gpu.multiprocessors = attribute_of(device, cudaDevAttrMultiProcessorCount);
  gpu.shared_bytes = attribute_of(device, cudaDevAttrMaxSharedMemoryPerBlockOptin);
  return gpu;
}

}  // namespace ozfp4::cuda
