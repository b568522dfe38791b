// The current CUDA device, and which kernel multiplies the planes of a plan on it.
#pragma once

#include <cuda_runtime_api.h>

#include <vector>

#include "cuda/multiply/contract.hpp"
#include "plan/choice.hpp"
#include "plan/plan.hpp"

namespace ozfp4::product {

struct Device {
  int index;
  cuda::Gpu gpu;
};

// The one that the calling thread has made current. Throws Refusal Fault::no_device where there is none.
Device current_device();

// Whether a graph is captured on the stream. Throws std::runtime_error where CUDA does not say, as of the default stream while a
// graph is captured on one that waits for it.
bool is_captured(cudaStream_t stream);

// In place of a stream where nothing is launched: of the thread's own one CUDA says it whatever others capture.
inline cudaStream_t no_stream() { return cudaStreamPerThread; }

// Units of its INT8 and FP4 kernels beside each other, where no kernel multiplies none.
std::vector<UnitRate> device_units(const Device& device, Scheme scheme);

// Kernels that multiply the planes of a plan, best first.
std::vector<cuda::Kernel> kernels_for(const Device& device, const Plan& plan);

// Whether a kernel multiplies the planes of such a plan exactly on the device, or, without planes, the kernels for small and thin
// products multiply real numbers of 64 bits: tried on exact integers before the first use, which takes memory of the device and
// waits for it. Throws Refusal Fault::unsupported where that would be while `stream` is captured.
bool is_trusted(const Device& device, cuda::Kernel kernel, const Plan& plan, cudaStream_t stream, bool without_planes = false);

}  // namespace ozfp4::product
