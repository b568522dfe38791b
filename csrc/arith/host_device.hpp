// One definition of the arithmetic for CPU and GPU: functions marked OZFP4_HD compile for both.
#pragma once

#if defined(__CUDACC__)
#define OZFP4_HD __host__ __device__ __forceinline__
#else
#define OZFP4_HD inline
#endif
