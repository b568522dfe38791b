#include "cuda/runtime/stream.hpp"

#include "cuda/runtime/device_guard.hpp"

namespace ozfp4::cuda {

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
