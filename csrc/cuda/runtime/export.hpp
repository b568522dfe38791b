// Marks what other libraries may call of the one that holds the kernels.
#pragma once

// Marks the functions that ozfp4._cuda calls. libozfp4_cuda exports them, and in addition the names of cmake/ozfp4_cuda.map;
// libozfp4 exports none of them. In ozfp4._cuda there is no CUDA runtime: a second one would have another current device.
#define OZFP4_CUDA_EXPORT __attribute__((visibility("default")))
