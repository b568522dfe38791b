// Which kernels of a device are trusted, like trust/cpu for those of the CPU. They are the multiply kernels with each type of
// entries of their planes, and the kernels of products without planes.
#pragma once

#include <cuda_runtime_api.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cuda/multiply/contract.hpp"
#include "cuda/runtime/export.hpp"
#include "product/gpu/device.hpp"
#include "product/trust/verdict.hpp"

namespace ozfp4::product {

// On its device.
struct GpuKernel {
  Device device;
  bool has_planes;
  cuda::Kernel kernel = cuda::Kernel::hopper;  // that multiplies planes
  Element element = Element::u8;

  KernelName name() const;
  std::string full_name() const;  // as warnings have it
  bool operator==(const GpuKernel& other) const {
    return device.index == other.device.index && has_planes == other.has_planes && kernel == other.kernel &&
           element == other.element;
  }
};

// The verdict on a kernel about to be used, on the current device. It is the known one, else that of the short form, tested now,
// which takes memory of the device and waits for it. Throws as examine, and Refusal Fault::unsupported where it would be tried
// while `stream` is captured.
const Verdict& verdict_of(const GpuKernel& kernel, cudaStream_t stream);

// That of this process or an earlier one; tries nothing.
std::optional<Verdict> known_verdict(const GpuKernel& kernel);

// The key of findings about a device: "device", "driver", "build". Waits for nothing.
const Facts& facts_of(const Device& device);

// The same for ozfp4._cuda: of any device and by names. They throw std::invalid_argument for a name that is no kernel's, and
// Refusal Fault::out_of_memory where the device has no memory for the test.
OZFP4_CUDA_EXPORT Verdict find_device_verdict(int device, const KernelName& name);
OZFP4_CUDA_EXPORT std::optional<Verdict> known_device_verdict(int device, const KernelName& name);
OZFP4_CUDA_EXPORT Verdict test_on_device(int device, const KernelName& name, bool is_short);
OZFP4_CUDA_EXPORT std::vector<std::pair<int, KernelName>> failed_device_kernels();
OZFP4_CUDA_EXPORT void forget_device_verdicts();
OZFP4_CUDA_EXPORT void break_device_kernels(std::vector<KernelName> kernels);
// Kernels that multiply the planes of a plan, best first; without a plan all that the device has, also those of tests.
OZFP4_CUDA_EXPORT std::vector<KernelName> device_kernels(int device, const Plan* plan);
OZFP4_CUDA_EXPORT Facts find_device_facts(int device);

}  // namespace ozfp4::product

// For the program next to the library, trust/program: the test of a kernel on the device with these facts, its verdict to
// standard output. Returns 0 where there is one.
extern "C" OZFP4_CUDA_EXPORT int ozfp4_cuda_selftest(const char* device, const char* name, const char* element, int is_short);
