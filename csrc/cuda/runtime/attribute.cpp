#include "cuda/runtime/attribute.hpp"

#include "cuda/runtime/device_guard.hpp"

namespace ozfp4::cuda {

int attribute_of(int device, cudaDeviceAttr attribute) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, attribute, device), "cudaDeviceGetAttribute");
  return value;
}

}  // namespace ozfp4::cuda
