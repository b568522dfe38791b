// Whether the kernel for small products of integers, which needs no planes, is exact on a device.
#pragma once

#include <cuda_runtime_api.h>

#include "c_api/cuda/choice.hpp"
#include "c_api/cuda/device/device.hpp"

namespace ozfp4::c_api {

// Tried before its first use, which takes memory of the device and waits for it; `chosen`: what would make the product otherwise.
// Throws Refusal OZFP4_UNSUPPORTED where that would be while `stream` is captured.
bool are_integers_trusted(const Device& device, const Chosen& chosen, cudaStream_t stream);

}  // namespace ozfp4::c_api
