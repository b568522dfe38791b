// One definition of the arithmetic for CPU and GPU: functions marked OZFP4_HD compile for both.
#pragma once

#if defined(__CUDACC__)
#define OZFP4_HD __host__ __device__ __forceinline__
#else
#define OZFP4_HD inline
#endif

// 1 in device code for GPUs with few FP64 units, 1/64 of the FP32 rate. B300 may run the code for B200. Code for 8.6 counts as
// that for 8.0, from which part of it is made (share_front_end of cmake/gpu_targets.cmake).
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ > 860 && __CUDA_ARCH__ != 900 && __CUDA_ARCH__ != 1000
#define OZFP4_HAS_FEW_FP64_UNITS 1
#else
#define OZFP4_HAS_FEW_FP64_UNITS 0
#endif

#include <cmath>

namespace ozfp4 {

// a b + c, rounded once, to nearest.
OZFP4_HD float fused_multiply_add(float a, float b, float c) {
#if defined(__CUDA_ARCH__)
  return __fmaf_rn(a, b, c);
#else
  return std::fmaf(a, b, c);
#endif
}
OZFP4_HD double fused_multiply_add(double a, double b, double c) {
#if defined(__CUDA_ARCH__)
  return __fma_rn(a, b, c);
#else
  return std::fma(a, b, c);
#endif
}

}  // namespace ozfp4
