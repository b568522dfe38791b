// A number that the runtime knows of a device.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/runtime/export.hpp"

namespace ozfp4::cuda {

// Throws std::runtime_error where there is no such device.
OZFP4_CUDA_EXPORT int attribute_of(int device, cudaDeviceAttr attribute);

}  // namespace ozfp4::cuda
