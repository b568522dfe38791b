// GPUs, by what is there when a program calls cuBLAS: next to this library libozfp4_cuda, or libozfp4 with CUDA, and the driver
// that the program has loaded. Nothing is loaded before.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ozfp4.h"

namespace ozfp4::exec::cublas {

using Handle = void*;
using Stream = void*;
using Status = int;

// ---- The driver's interface, as cuda.h has it: a build needs none ----

struct Memcpy2d {
  std::size_t x_from, y_from;
  unsigned kind_from;
  const void* host_from;
  std::uintptr_t device_from;
  void* array_from;
  std::size_t pitch_from;
  std::size_t x_to, y_to;
  unsigned kind_to;
  void* host_to;
  std::uintptr_t device_to;
  void* array_to;
  std::size_t pitch_to;
  std::size_t width, height;
};
constexpr unsigned kind_host = 1, kind_device = 2;  // CUmemorytype

struct PoolProperties {
  int type, handles;
  int location, device;
  void* security;
  std::size_t most;
  unsigned short usage;
  unsigned char reserved[54];
};
enum : int { pinned = 1, on_device = 1 };
enum : int { reuses_by_dependencies = 3, keeps_bytes = 4 };   // CUmemPool_attribute
enum : int { major_capability = 75, minor_capability = 76 };  // CUdevice_attribute
constexpr int relaxed = 2;                                    // CUstreamCaptureMode
constexpr unsigned mapped = 2;                                // of cuMemHostAlloc

// X(name, arguments)
#define OZFP4_DRIVER(X)                                                   \
  X(cuMemPoolCreate, void**, const PoolProperties*)                       \
  X(cuMemPoolSetAttribute, void*, int, void*)                             \
  X(cuMemAllocFromPoolAsync, std::uintptr_t*, std::size_t, void*, Stream) \
  X(cuMemFreeAsync, std::uintptr_t, Stream)                               \
  X(cuMemHostAlloc, void**, std::size_t, unsigned)                        \
  X(cuStreamIsCapturing, Stream, int*)                                    \
  X(cuThreadExchangeStreamCaptureMode, int*)                              \
  X(cuMemcpy2DAsync_v2, const Memcpy2d*, Stream)                          \
  X(cuStreamSynchronize, Stream)                                          \
  X(cuCtxGetDevice, int*)                                                 \
  X(cuCtxGetId, void*, unsigned long long*)                               \
  X(cuDeviceGetName, char*, int, int)                                     \
  X(cuDeviceGetAttribute, int*, int, int)

struct Driver {
#define OZFP4_MEMBER(name, ...) int (*name)(__VA_ARGS__) = nullptr;
  OZFP4_DRIVER(OZFP4_MEMBER)
#undef OZFP4_MEMBER
};

// ---- ozfp4.h's of a library with CUDA ----

#define OZFP4_LIBRARY(X)                            \
  X(ozfp4_has_cuda)                                 \
  X(ozfp4_last_error)                               \
  X(ozfp4_cuda_workspace_size_gemm_strided_batched) \
  X(ozfp4_cuda_sgemm_strided_batched)               \
  X(ozfp4_cuda_dgemm_strided_batched)               \
  X(ozfp4_cuda_cgemm_strided_batched)               \
  X(ozfp4_cuda_zgemm_strided_batched)

struct Library {
#define OZFP4_MEMBER(name) decltype(&::name) name = nullptr;
  OZFP4_LIBRARY(OZFP4_MEMBER)
#undef OZFP4_MEMBER
};

// Null where one of their functions is not there.
const Driver* driver();
const Library* library();

// In a child of fork(), where the device's memory is the parent's (cublas.cpp).
void forget_contexts();

}  // namespace ozfp4::exec::cublas
