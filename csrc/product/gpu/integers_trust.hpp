// Whether the kernel for small products of integers, which needs no planes, is exact on a device.
#pragma once

#include <cuda_runtime_api.h>

#include "product/gpu/choice.hpp"
#include "product/gpu/device.hpp"

namespace ozfp4::product {

// Tried before its first use, which takes memory of the device and waits for it; `chosen`: what would make the product otherwise.
// Throws Refusal Fault::unsupported where that would be while `stream` is captured.
bool are_integers_trusted(const Device& device, const Chosen& chosen, cudaStream_t stream);

}  // namespace ozfp4::product
