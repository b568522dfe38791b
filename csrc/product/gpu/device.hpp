// The current CUDA device, and which kernel multiplies the planes of a plan on it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cuda/layout/ways.hpp"
#include "cuda/multiply/contract.hpp"
#include "cuda/runtime/export.hpp"
#include "plan/choice.hpp"
#include "plan/plan.hpp"
#include "product/options.hpp"

namespace ozfp4::product {

struct Device {
  int index;
  cuda::Gpu gpu;
};

// The one that the calling thread has made current. Throws Refusal Fault::no_device where there is none.
OZFP4_CUDA_EXPORT Device current_device();

// The same with the device's usual workspace as the limit, where none was given.
Options limited(const Options& options, const Device& device);

// Whether a graph is captured on the stream. Throws std::runtime_error where CUDA does not say, as of the default stream while a
// graph is captured on one that waits for it.
bool is_captured(cudaStream_t stream);

// Instead of a stream where nothing is launched: for the thread's default one CUDA answers whatever others capture.
inline cudaStream_t no_stream() { return cudaStreamPerThread; }

// Relative rates of its INT8 and FP4 kernels; a unit without a kernel has none.
std::vector<UnitRate> device_units(const Device& device, Scheme scheme);

// Kernels that multiply the planes of a plan, best first.
std::vector<cuda::Kernel> kernels_for(const Device& device, const Plan& plan, const cuda::ProductShape& shape = {});

// Whether the kernels for small and thin products, without planes, passed their self-test on the current device, which is this
// one: their first use runs it (product/trust/gpu). Unknown where it would be run while `stream` is captured.
enum class Trust : std::uint8_t { passed, failed, unknown };
Trust trust_without_planes(const Device& device, cudaStream_t stream);

// ---- The plan of a product, and the kernel that multiplies its planes ------------------------------------------------------

struct Chosen {
  std::shared_ptr<const Plan> plan;
  cuda::Kernel kernel;
  std::string fallback{};  // why it is not that of the cheapest unit for large products; empty: it is
};

// The cheapest that can be trusted; `is_paired`: of two complex operands. Throws Refusal Fault::no_device where no kernel of this
// build passes its test on the device.
OZFP4_CUDA_EXPORT Chosen choose(const Options& options, int precision, const cuda::ProductShape& shape, bool is_paired,
                                const Device& device, cudaStream_t stream);

// The kernel that multiplies prepared planes: theirs, or a faster one for the shape that takes the same. Throws Refusal
// Fault::no_device where the test of theirs failed.
cuda::Kernel serving_prepared(const Device& device, const Plan& plan, cuda::Kernel kernel, const cuda::ProductShape& shape,
                              cudaStream_t stream);

// Why a product is made by the plan of the cheapest unit: what was asked for, or products and rates of each.
OZFP4_CUDA_EXPORT std::string reason_on(const Device& device, const Options& options, int precision, std::int64_t inner);

// The unit of that plan, whatever its self-test finds.
OZFP4_CUDA_EXPORT const Alphabet& cheapest_on(const Device& device, const Options& options, int precision, std::int64_t inner);

}  // namespace ozfp4::product
