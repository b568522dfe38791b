#include "cpu/bytes/kernels/kernel.hpp"

#include <atomic>
#include <stdexcept>

#include "cpu/runtime/environment.hpp"

namespace ozfp4 {
namespace {

constexpr const ByteKernel* kKernels[] = {&amx_kernel, &avx512_vnni_kernel, &avx_vnni_kernel, &portable_bytes_kernel};
constexpr const char* kFloatSetting = "sgemm";

std::atomic<unsigned> disabled{0};  // bit i: kKernels[i]

thread_local bool is_forced = false;
thread_local const ByteKernel* forced = nullptr;

unsigned bit_of(const ByteKernel& kernel) {
  unsigned bit = 1;
  for (const ByteKernel* each : kKernels) {
    if (each == &kernel) return bit;
    bit <<= 1;
  }
  return 0;
}

const ByteKernel* best_kernel() {
  for (const ByteKernel* kernel : kKernels) {
    if (kernel == &portable_bytes_kernel) break;  // FP32 is faster
    if ((disabled & bit_of(*kernel)) == 0 && kernel->is_here()) return kernel;
  }
  return nullptr;
}

}  // namespace

const std::vector<const ByteKernel*>& byte_kernels() {
  static const std::vector<const ByteKernel*> found = [] {
    std::vector<const ByteKernel*> kernels;
    for (const ByteKernel* kernel : kKernels) {
      if (kernel->is_here()) kernels.push_back(kernel);
    }
    return kernels;
  }();
  return found;
}

const ByteKernel* find_byte_kernel(const std::string& setting, const char* what) {
  if (setting == kFloatSetting) return nullptr;
  std::string known = kFloatSetting;
  for (const ByteKernel* kernel : kKernels) {
    if (setting == kernel->setting) {
      if (kernel->is_here()) return kernel;
      throw std::invalid_argument(std::string(what) + ": '" + setting + "' needs what this CPU or its system does not have");
    }
    known = kernel->setting + (", " + known);
  }
  throw std::invalid_argument(std::string(what) + ": '" + setting + "' is none of " + known);
}

const ByteKernel* serving_byte_kernel() {
  if (is_forced) return forced;
  const std::string& setting = environment().cpu_kernel;
  return setting.empty() ? best_kernel() : find_byte_kernel(setting, "OZFP4_CPU_KERNEL");
}

bool is_byte_kernel_asked() { return is_forced || !environment().cpu_kernel.empty(); }

void disable_byte_kernels(const std::vector<const ByteKernel*>& kernels) {
  unsigned found = 0;
  for (const ByteKernel* kernel : kernels) found |= bit_of(*kernel);
  disabled = found;
}

ForcedKernel::ForcedKernel(const ByteKernel* kernel) : was_forced_(is_forced), before_(forced) {
  is_forced = true;
  forced = kernel;
}

ForcedKernel::~ForcedKernel() {
  is_forced = was_forced_;
  forced = before_;
}

}  // namespace ozfp4
