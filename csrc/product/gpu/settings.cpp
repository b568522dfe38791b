#include "product/gpu/settings.hpp"

#include <cuda_runtime_api.h>

#include <atomic>
#include <map>
#include <mutex>
#include <string>

#include "cuda/runtime/device.hpp"
#include "plan/alphabet.hpp"
#include "product/measured.hpp"

namespace ozfp4::product {
namespace {

std::atomic<int> changes{0};
std::mutex lock;
DeviceForced forced;

struct About {
  std::string name;  // as the driver has it
  std::int64_t memory;
};

// It takes a millisecond to find.
const About& about(int device) {
  static auto* const found = new std::map<int, About>;
  const std::lock_guard<std::mutex> hold(lock);
  const auto held = found->find(device);
  if (held != found->end()) return held->second;
  cudaDeviceProp all{};
  cuda::check(cudaGetDeviceProperties(&all, device), "cudaGetDeviceProperties");
  return found->try_emplace(device, About{all.name, static_cast<std::int64_t>(all.totalGlobalMem)}).first->second;
}

// Kept in millionths. Beyond the bounds a measurement is none, of a model that is right on one GPU.
double factor_of(const std::string& device, const char* way) {
  const double found = 1e-6 * static_cast<double>(measured(device, std::string(way) + kModels).value_or(0));
  return 0.05 < found && found < 20 ? found : 1.0;
}

}  // namespace

DeviceRates device_rates(int device) {
  if (!has_measured()) return {};
  const std::string& name = about(device).name;
  const auto rate = [&](const Alphabet& of) { return static_cast<double>(measured(name, of.name).value_or(0)); };
  return {rate(Alphabet::int8),
          rate(Alphabet::fp4),
          {factor_of(name, "direct"), factor_of(name, "thin"), factor_of(name, "tiles"), factor_of(name, "stages")},
          measured(name, std::string("stages") + kModels).has_value()};
}

std::int64_t usual_workspace(int device) { return usual_workspace_of(about(device).memory); }

void read_device_rates() { read_measured(); }

void force_on_devices(const DeviceForced& given) {
  const std::lock_guard<std::mutex> hold(lock);
  forced = given;
  count_device_change();
}

DeviceForced forced_on_devices() {
  const std::lock_guard<std::mutex> hold(lock);
  return forced;
}

int device_generation() { return changes.load(std::memory_order_relaxed) + measured_generation(); }
void count_device_change() { ++changes; }

}  // namespace ozfp4::product
