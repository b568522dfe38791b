// The plan of a product on the current device, and the kernel that multiplies its planes.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>

#include "cuda/runtime/export.hpp"
#include "product/gpu/device.hpp"
#include "product/options.hpp"

namespace ozfp4::product {

struct Chosen {
  std::shared_ptr<const Plan> plan;
  cuda::Kernel kernel;
  std::string fallback{};  // why it is not that of the cheapest unit; empty: it is
};

// The cheapest that can be trusted, for an inner dimension of the real product; `is_paired`: that of two complex operands. Throws
// Refusal Fault::no_device where no kernel of this build passes its test on the device.
OZFP4_CUDA_EXPORT Chosen choose(const Options& options, int precision, std::int64_t inner, bool is_paired, const Device& device,
                                cudaStream_t stream);

// Checks that the kernel of prepared planes may serve still. Throws Refusal Fault::no_device where its test failed.
void check_serving(const Device& device, const Plan& plan, cuda::Kernel kernel, cudaStream_t stream);

// Why a product is made by the plan of the cheapest unit: what was asked for, or products and rates of each.
OZFP4_CUDA_EXPORT std::string reason_on(const Device& device, const Options& options, int precision, std::int64_t inner);

// The unit of that plan, whatever its self-test finds.
OZFP4_CUDA_EXPORT const Alphabet& cheapest_on(const Device& device, const Options& options, int precision, std::int64_t inner);

}  // namespace ozfp4::product
