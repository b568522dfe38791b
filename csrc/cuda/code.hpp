// This header says which code of a kernel really runs. The device does not decide it. PTX of sm_80, compiled by the driver for an
// sm_90, is code in which everything that __CUDA_ARCH__ >= 900 guards was left out when the PTX was made.
#pragma once

#include <cstdint>

// 1 in device code that may use what compute capability 9.0 brought; 0 in older device code and on the host.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define OZFP4_IS_SM90_CODE 1
#else
#define OZFP4_IS_SM90_CODE 0
#endif

namespace ozfp4::cuda {

// 10 * major + minor of the PTX that the code was made from, and of the machine that it was made for; 0: unknown.
struct CodeVersion {
  int ptx = 0, binary = 0;
};

// Device code has these under OZFP4_IS_SM90_CODE alone.
enum class CodeFeature : std::uint8_t {
  clusters,          // cuda/scale/block_cluster.cuh
  dependent_launch,  // waits for the kernel before it: cuda/dependent_launch.cuh
};

constexpr bool code_has(CodeVersion code, CodeFeature feature) {
  switch (feature) {
    case CodeFeature::clusters:
    case CodeFeature::dependent_launch: return code.ptx >= 90 && code.binary >= 90;
  }
  return false;
}

}  // namespace ozfp4::cuda
