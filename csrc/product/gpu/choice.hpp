// The plan of a product on the current device, and the kernel that multiplies its planes.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>

#include "product/gpu/device.hpp"
#include "product/options.hpp"

namespace ozfp4::product {

struct Chosen {
  std::shared_ptr<const Plan> plan;
  cuda::Kernel kernel;
};

// The cheapest that can be trusted, for an inner dimension of the real product; `is_paired`: that of two complex operands. Throws
// Refusal Fault::no_device where no kernel of this build passes its test on the device.
Chosen choose(const Options& options, int precision, std::int64_t inner, bool is_paired, const Device& device,
              cudaStream_t stream);

}  // namespace ozfp4::product
