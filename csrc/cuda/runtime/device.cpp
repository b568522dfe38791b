#include "cuda/runtime/device.hpp"

#include <stdexcept>
#include <string>

namespace ozfp4::cuda {

void* find_driver_function(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  const cudaError_t error = cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found);
#else
  const cudaError_t error = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);
#endif
  return error == cudaSuccess && found == cudaDriverEntryPointSuccess ? function : nullptr;
}

static decltype(&cuCtxSetCurrent) set_current() {
  static const auto function = driver_function<decltype(cuCtxSetCurrent)>("cuCtxSetCurrent");
  return function;
}

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // else the caller's next look for errors, in work that has nothing to do with it, finds this one
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

DeviceGuard::DeviceGuard(int device) {
  int current = 0;
  check(cudaGetDevice(&current), "cudaGetDevice");
  if (current == device) return;
  static const auto get_current = driver_function<decltype(cuCtxGetCurrent)>("cuCtxGetCurrent");
  has_changed_ = set_current() != nullptr && get_current != nullptr && get_current(&previous_) == CUDA_SUCCESS;
  check(cudaSetDevice(device), "cudaSetDevice");
}

DeviceGuard::~DeviceGuard() {
  if (has_changed_) set_current()(previous_);
}

int attribute_of(int device, cudaDeviceAttr attribute) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, attribute, device), "cudaDeviceGetAttribute");
  return value;
}

std::int64_t stream_id(cudaStream_t stream, int device) {
  const DeviceGuard guard(device);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  if (cudaStreamIsCapturing(stream, &status) != cudaSuccess || status != cudaStreamCaptureStatusNone ||
      cudaStreamGetId(stream, &id) != cudaSuccess) {
    cudaGetLastError();  // of the queries: the caller then does without the number
    return -1;
  }
  return static_cast<std::int64_t>(id);
}

}  // namespace ozfp4::cuda
