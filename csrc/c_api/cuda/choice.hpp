// The plan of a product on the current device, and the kernel that multiplies its planes.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>

#include "c_api/checked/options.hpp"
#include "c_api/cuda/device/device.hpp"

namespace ozfp4::c_api {

struct Chosen {
  std::shared_ptr<const Plan> plan;
  cuda::Kernel kernel;
};

// The cheapest that can be trusted, for an inner dimension of the real product; `is_paired`: that of two complex operands. Throws
// Refusal OZFP4_NO_DEVICE where no kernel of this build passes its test on the device.
Chosen choose(const Options& options, int precision, std::int64_t inner, bool is_paired, const Device& device,
              cudaStream_t stream);

}  // namespace ozfp4::c_api
