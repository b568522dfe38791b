#include "product/threshold.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "cpu/bytes/kernels/kernel.hpp"
#include "cpu/runtime/environment.hpp"
#include "product/measured.hpp"

namespace ozfp4 {
namespace {

constexpr char kTypes[] = "sdcz";
const char* const kNames[] = {"float32", "float64", "complex64", "complex128"};

struct Thresholds {
  std::int64_t of[4] = {kNeverFaster, kNeverFaster, kNeverFaster, kNeverFaster};  // by kTypes
};

// With AMX 0.85 of the time of NumPy's product at 2048^3 of float64 (docs/performance/cpu.md).
constexpr Thresholds kAmx{{kNeverFaster, 2048, kNeverFaster, kNeverFaster}};

struct Gpu {
  const char* name;  // a part of it, in lower case
  int capability;
  Thresholds thresholds;
};
// Measured, on an H200 and an H100, relative to the time of cuBLAS. float64 takes 0.98 at 2048^3 and 0.7 at 4096^3, complex128
// 1.12 and 0.63 at 1024^3 and 2048^3. complex64 takes 0.72 at 1024^3, which has half the operations of float32 at 2048^3.
constexpr Thresholds kHopper{{2048, 3072, 1024, 2048}};
// GPUs with few FP64 units. Modelled, not measured: by benchmarks/model.py products pay from 384 on, complex ones from 192.
constexpr Thresholds kLittleFp64{{kNeverFaster, 512, kNeverFaster, 256}};
constexpr Gpu kGpus[] = {{"h100", 90, kHopper},  {"h200", 90, kHopper},  {"", 86, kLittleFp64}, {"", 89, kLittleFp64},
                         {"", 103, kLittleFp64}, {"", 120, kLittleFp64}, {"", 121, kLittleFp64}};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char x) { return static_cast<char>(std::tolower(x)); });
  return text;
}

std::int64_t threshold(const std::string& device, char type, const Thresholds& otherwise) {
  const auto at = std::find(std::begin(kTypes), std::end(kTypes) - 1, type) - std::begin(kTypes);
  return at < 4 ? measured(device, kNames[at]).value_or(otherwise.of[at]) : kNeverFaster;
}

}  // namespace

std::int64_t cpu_threshold(char type) {
  const std::string& asked = environment().cpu_kernel;
  const bool has_amx = amx_kernel.is_here() && (asked.empty() ? serving_byte_kernel() == &amx_kernel : asked == "amx");
  return threshold(cpu_name(), type, has_amx ? kAmx : Thresholds());
}

std::int64_t gpu_threshold(const std::string& name, int capability, char type) {
  const std::string lowered = lower(name);
  const Gpu* const found = std::find_if(std::begin(kGpus), std::end(kGpus), [&](const Gpu& gpu) {
    return gpu.capability == capability && lowered.find(gpu.name) != std::string::npos;
  });
  return threshold(name, type, found != std::end(kGpus) ? found->thresholds : Thresholds());
}

}  // namespace ozfp4
