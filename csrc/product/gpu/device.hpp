// The current CUDA device, and which kernel multiplies the planes of a plan on it.
#pragma once

#include <cuda_runtime_api.h>

#include <vector>

#include "cuda/multiply/contract.hpp"
#include "cuda/runtime/export.hpp"
#include "plan/choice.hpp"
#include "plan/plan.hpp"

namespace ozfp4::product {

struct Device {
  int index;
  cuda::Gpu gpu;
};

// The one that the calling thread has made current. Throws Refusal Fault::no_device where there is none.
OZFP4_CUDA_EXPORT Device current_device();

// Whether a graph is captured on the stream. Throws std::runtime_error where CUDA does not say, as of the default stream while a
// graph is captured on one that waits for it.
bool is_captured(cudaStream_t stream);

// In place of a stream where nothing is launched: of the thread's own one CUDA says it whatever others capture.
inline cudaStream_t no_stream() { return cudaStreamPerThread; }

// Units of its INT8 and FP4 kernels beside each other, where no kernel multiplies none.
std::vector<UnitRate> device_units(const Device& device, Scheme scheme);

// Kernels that multiply the planes of a plan, best first.
std::vector<cuda::Kernel> kernels_for(const Device& device, const Plan& plan);

// Whether the kernels for small and thin products, without planes, passed their self-test on the current device, which is this
// one: their first use runs it (product/trust/gpu). Unknown where it would be run while `stream` is captured.
enum class Trust : std::uint8_t { passed, failed, unknown };
Trust trust_without_planes(const Device& device, cudaStream_t stream);

}  // namespace ozfp4::product
