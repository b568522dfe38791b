// A number that the runtime knows of a device.
#pragma once

#include <cuda_runtime_api.h>

namespace ozfp4::cuda {

// Throws std::runtime_error where there is no such device.
int attribute_of(int device, cudaDeviceAttr attribute);

}  // namespace ozfp4::cuda
