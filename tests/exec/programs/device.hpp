// Arrays of a GPU for the programs here, and REQUIRE(call), which ends the program where a call fails.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

inline void require(int status, const char* what) {
  if (status == 0) return;
  std::fprintf(stderr, "%s: status %d\n", what, status);
  std::exit(2);
}
#define REQUIRE(call) require(static_cast<int>(call), #call)

template <class T>
struct Device {
  T* data = nullptr;
  std::size_t count;
  explicit Device(std::size_t size) : count(size) {
    REQUIRE(cudaMalloc(reinterpret_cast<void**>(&data), count * sizeof(T) + 256));
  }
  explicit Device(const std::vector<T>& from) : Device(from.size()) {
    REQUIRE(cudaMemcpy(data, from.data(), count * sizeof(T), cudaMemcpyHostToDevice));
  }
  Device(const Device&) = delete;
  ~Device() { cudaFree(data); }
  std::vector<T> read() const {
    std::vector<T> found(count);
    REQUIRE(cudaDeviceSynchronize());
    REQUIRE(cudaMemcpy(found.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost));
    return found;
  }
};

inline int passed = 0, failed = 0;

// The end of a program: what its checks have found.
inline int finish() {
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}

inline bool has_gpu() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
}
constexpr int skipped = 77;
