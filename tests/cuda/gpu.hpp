// Parts that the stand-alone checks that use a GPU share: REQUIRE(call) ends the program where a call of the CUDA runtime fails.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <string>

inline void require(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::printf("%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}
#define REQUIRE(call) require((call), #call)

// The exit status that CTest takes for a check that was not run.
constexpr int kSkipped = 77;

inline bool has_gpu() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
}

// Ends the program as skipped where there is no GPU.
inline void require_gpu() {
  if (has_gpu()) return;
  std::printf("no GPU\n");
  std::exit(kSkipped);
}

// Whether the program was called as `PROGRAM gpu ...`, and not as `PROGRAM host`; ends it where it was called otherwise, and as
// skipped where the GPU is missing.
inline bool is_for_gpu(int argc, char** argv) {
  const std::string part = argc > 1 ? argv[1] : "";
  if (part != "host" && part != "gpu") {
    std::printf("usage: %s host | gpu ...\n", argv[0]);
    std::exit(2);
  }
  if (part == "gpu") require_gpu();
  return part == "gpu";
}
