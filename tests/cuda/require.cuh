// REQUIRE(call): ends the program where a call of the CUDA runtime fails.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>

inline void require(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::printf("%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}
#define REQUIRE(call) require((call), #call)
