// Settings of products on devices, besides their options: measured rates, and choices that a test or a measurement forces.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "cuda/layout/ways.hpp"
#include "cuda/multiply/contract.hpp"
#include "cuda/runtime/export.hpp"

namespace ozfp4::product {

// Operations a second of a device's units for planes of scheme II, 0: not measured; and what each way to make a product takes
// over its model.
struct DeviceRates {
  double int8 = 0, fp4 = 0;
  cuda::OfWays ways{1, 1, 1, 1};
  bool has_ways = false;  // they were measured

  bool are_measured() const { return int8 > 0 && fp4 > 0; }
};

// Bytes of workspace that products take at most on a device of so much memory, where they are given no limit. A program of
// 16384 x 16384 matrices has room for them on a card of 24 GB.
inline constexpr std::int64_t kMostUsualWorkspace = std::int64_t(1) << 33;
inline std::int64_t usual_workspace_of(std::int64_t memory) { return std::min(kMostUsualWorkspace, memory / 4); }

// Instead of the choices of the kernels and the package.
struct DeviceForced {
  std::optional<cuda::Kernel> kernel{};  // used without a self-test
  std::optional<std::string> tile{};
  std::optional<int> splits{};
  std::optional<bool> overlap{};
  std::optional<cuda::WithoutPlanes> direct{};
};

// Any thread may call them.
OZFP4_CUDA_EXPORT DeviceRates device_rates(int device);
std::int64_t usual_workspace(int device);
DeviceForced forced_on_devices();

// Replaces those before.
OZFP4_CUDA_EXPORT void force_on_devices(const DeviceForced& forced);
// Reads what was measured again.
OZFP4_CUDA_EXPORT void read_device_rates();

// Counts the changes that problems depend on besides their key: settings, and verdicts on kernels.
OZFP4_CUDA_EXPORT int device_generation();
void count_device_change();

}  // namespace ozfp4::product
