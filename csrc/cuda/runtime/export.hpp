// Marks what other libraries may call of the one that holds the kernels.
#pragma once

// Marks the functions that ozfp4._cuda calls. libozfp4_cuda exports them, and beside them what cmake/ozfp4_cuda.map names;
// libozfp4 exports none of them. In ozfp4._cuda there is no CUDA runtime: a second one would have a current device of its own.
#define OZFP4_CUDA_EXPORT __attribute__((visibility("default")))
