#include "cuda/runtime/device_guard.hpp"

#include <stdexcept>
#include <string>

namespace ozfp4::cuda {
namespace {

// The driver's function, found at run time so that nothing links libcuda; null where there is none.
template <class Function>
Function* driver_function(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  const cudaError_t error = cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found);
#else
  const cudaError_t error = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);
#endif
  return reinterpret_cast<Function*>(error == cudaSuccess && found == cudaDriverEntryPointSuccess ? function : nullptr);
}

decltype(&cuCtxSetCurrent) set_current() {
  static const auto function = driver_function<decltype(cuCtxSetCurrent)>("cuCtxSetCurrent");
  return function;
}

}  // namespace

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

}  // namespace ozfp4::cuda
