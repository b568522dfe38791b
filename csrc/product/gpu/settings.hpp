// Settings of all products on devices from now on: measured rates, and choices that a test or a measurement forces.
#pragma once

#include <optional>
#include <string>

#include "cuda/multiply/contract.hpp"
#include "cuda/runtime/export.hpp"
#include "cuda/ways/ways.hpp"

namespace ozfp4::product {

// Operations a second of a device's units for planes of either scheme, and what each way to make a product takes over its model.
struct DeviceRates {
  double int8_by_residues, fp4_by_residues, int8_by_digits, fp4_by_digits;
  cuda::OfWays ways{1, 1, 1, 1};
  std::string basis;  // where the figures come from
};

// In place of what the kernels and the package would choose.
struct DeviceForced {
  std::optional<cuda::Kernel> kernel{};  // serves without a self-test
  std::optional<std::string> tile{};
  std::optional<int> splits{};
  std::optional<bool> overlap{};
  std::optional<cuda::Direct> direct{};
};

// In place of those before. Any thread may call them.
OZFP4_CUDA_EXPORT void set_device_rates(int device, const DeviceRates& rates);
OZFP4_CUDA_EXPORT void force_on_devices(const DeviceForced& forced);

// Nothing where none were set.
std::optional<DeviceRates> device_rates(int device);
DeviceForced forced_on_devices();

// Counts the changes of what problems depend on beside their key: settings, and verdicts on kernels.
OZFP4_CUDA_EXPORT int device_generation();
void count_device_change();

}  // namespace ozfp4::product
