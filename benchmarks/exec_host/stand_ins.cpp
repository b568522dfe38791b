// Stands in for a BLAS, libcublas.so.13, libcuda.so.1 and a libozfp4 with CUDA: functions that return at once
// and multiply nothing, on an H200 by its name.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#define EXPORT __attribute__((visibility("default")))
#define DOES_NOTHING(name) \
  EXPORT int name() { return 0; }

namespace {
std::atomic<long> served{0};
std::int64_t counts[1024];
}  // namespace

extern "C" {
// ---- BLAS ----
EXPORT void sgemm_() {}
EXPORT void dgemm_() {}
EXPORT void cblas_dgemm() {}

// ---- cuBLAS ----
EXPORT int cublasCreate_v2(void** handle) { return *handle = new int, 0; }
EXPORT int cublasGetStream_v2(void*, void** stream) { return *stream = nullptr, 0; }
EXPORT int cublasGetPointerMode_v2(void*, int* mode) { return *mode = 0; }
EXPORT int cublasGetVersion_v2(void*, int* version) { return *version = 130101, 0; }
DOES_NOTHING(cublasSetStream_v2)
DOES_NOTHING(cublasSetWorkspace_v2)
DOES_NOTHING(cublasSgemm_v2)
DOES_NOTHING(cublasDgemm_v2)
DOES_NOTHING(cublasDgemmStridedBatched)
DOES_NOTHING(cublasGemmEx)

// ---- The driver ----
EXPORT int cuMemPoolCreate(void** pool, const void*) { return *pool = counts, 0; }
DOES_NOTHING(cuMemPoolSetAttribute)
EXPORT int cuMemAllocFromPoolAsync(std::uintptr_t* address, std::size_t, void*, void*) {
  static char memory[256];
  return *address = reinterpret_cast<std::uintptr_t>(memory), 0;
}
DOES_NOTHING(cuMemFreeAsync)
EXPORT int cuMemHostAlloc(void** address, std::size_t, unsigned) { return *address = counts, 0; }
EXPORT int cuStreamIsCapturing(void*, int* status) { return *status = 0; }
EXPORT int cuCtxGetDevice(int* device) { return *device = 0; }
EXPORT int cuCtxGetId(void*, unsigned long long* id) { return *id = 1, 0; }
EXPORT int cuDeviceGetName(char* name, int, int) { return std::strcpy(name, "NVIDIA H200"), 0; }
EXPORT int cuDeviceGetAttribute(int* value, int attribute, int) { return *value = attribute == 75 ? 9 : 0, 0; }
DOES_NOTHING(cuThreadExchangeStreamCaptureMode)
DOES_NOTHING(cuMemcpy2DAsync_v2)
DOES_NOTHING(cuStreamSynchronize)

// ---- ozfp4 ----
EXPORT int ozfp4_has_cuda() { return 1; }
EXPORT const char* ozfp4_last_error() { return ""; }
EXPORT int ozfp4_cuda_workspace_size_gemm_strided_batched(int, int, int, int, std::int64_t, std::int64_t, std::int64_t,
                                                          const void*, const void*, std::int64_t, std::int64_t, const void*,
                                                          std::int64_t, std::int64_t, const void*, const void*, std::int64_t,
                                                          std::int64_t, std::int64_t, const void*, std::int64_t* bytes) {
  return *bytes = 4096, 0;
}
EXPORT int ozfp4_cuda_dgemm_strided_batched() { return served.fetch_add(1, std::memory_order_relaxed), 0; }
DOES_NOTHING(ozfp4_cuda_sgemm_strided_batched)
DOES_NOTHING(ozfp4_cuda_cgemm_strided_batched)
DOES_NOTHING(ozfp4_cuda_zgemm_strided_batched)
EXPORT long stand_in_served() { return served; }
}
