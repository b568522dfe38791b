#include "product/gpu/device.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cuda/multiply/contract.hpp"
#include "cuda/multiply/registry.hpp"
#include "cuda/runtime/device.hpp"
#include "product/choose.hpp"
#include "product/gpu/settings.hpp"
#include "product/refusal.hpp"
#include "product/trust/gpu.hpp"

namespace ozfp4::product {
namespace {

using namespace ozfp4::cuda;

// INT8 is 1, and FP4 what csrc/plan/choice.hpp says.
std::vector<UnitRate> typical_units(const Device& device, Scheme scheme) {
  Kernel codes = Kernel::hopper, bytes = Kernel::hopper;
  const bool has_codes = find_kernel(Element::e2m1, device.gpu, scheme == Scheme::two, &codes);
  const bool has_bytes = find_kernel(Element::u8, device.gpu, true, &bytes);
  const bool has_tcgen05_bytes = has_bytes && is_tcgen05(bytes);
  const bool has_tcgen05 = has_tcgen05_bytes || (has_codes && is_tcgen05(codes));
  return {{&Alphabet::int8, 1.0}, {&Alphabet::fp4, fp4_rate(has_codes, has_tcgen05, has_tcgen05_bytes)}};
}

// The time of an alphabet's unit over the models', up to a factor that all units of the device have.
double over_model(const Device& device, Scheme scheme, const Alphabet& alphabet) {
  const std::vector<UnitRate> typical = typical_units(device, scheme), found = device_units(device, scheme);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i].alphabet == &alphabet) return typical[i].rate / found[i].rate;
  }
  return 1;
}

std::string small_tiles(const Alphabet& cheapest) {
  return std::string("backend: '") + cheapest.name + "' has no small tiles, which are faster here by the kernels' models";
}

// The first kernel that can be trusted; else none, and `failures` has the reasons.
std::optional<cuda::Kernel> serving(const Device& device, const Plan& plan, const std::vector<cuda::Kernel>& kernels,
                                    cudaStream_t stream, std::string& failures) {
  failures.clear();
  for (const cuda::Kernel kernel : kernels) {
    const GpuKernel own{device, true, kernel, element_of(plan, kernel)};
    const Verdict& verdict = verdict_of(own, stream);
    if (verdict.is_passed) return kernel;
    failures += std::string(failures.empty() ? "" : "; ") + own.full_name() + ": " + verdict.reason;
  }
  failures = kernels.empty() ? "no kernel of this build multiplies its planes on the device"
                             : std::string("every kernel of '") + plan.alphabet.name + "' failed its self-test: " + failures;
  return std::nullopt;
}

}  // namespace

Device current_device() {
  int index = 0;
  if (const cudaError_t error = cudaGetDevice(&index); error != cudaSuccess) {
    cudaGetLastError();
    refuse(Fault::no_device, std::string("cuda: ") + cudaGetErrorString(error));
  }
  return {index, gpu_of(index)};
}

Options limited(const Options& options, const Device& device) {
  Options own = options;
  if (!own.has_limit) own.workspace_limit = usual_workspace(device.index);
  return own;
}

bool is_captured(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing");
  return status != cudaStreamCaptureStatusNone;
}

std::vector<Kernel> kernels_for(const Device& device, const Plan& plan, const ProductShape& shape) {
  const bool residues = plan.scheme == Scheme::two, is_limb = plan.alphabet.residue_is_limb();
  std::vector<Kernel> found = find_kernels(!is_limb ? Element::e2m1 : residues ? Element::u8 : Element::s8, device.gpu, residues);
  if (!is_limb) {
    const std::vector<Kernel> of_bytes = find_kernels(Element::s8, device.gpu, residues);
    found.insert(found.end(), of_bytes.begin(), of_bytes.end());
  }
  order_by_clocks(found, plan, shape, device.gpu);
  return found;
}

std::vector<UnitRate> device_units(const Device& device, Scheme scheme) {
  const DeviceRates rates = device_rates(device.index);
  std::vector<UnitRate> units = typical_units(device, scheme);
  if (!rates.are_measured()) return units;
  // Scheme I is measured by no one: it scales with the unit.
  const std::vector<UnitRate> of_residues = typical_units(device, Scheme::two);
  units[0].rate *= rates.int8 / of_residues[0].rate;
  units[1].rate *= rates.fp4 / of_residues[1].rate;
  return units;
}

Trust trust_without_planes(const Device& device, cudaStream_t stream) {
  const GpuKernel own{device, false};
  if (is_captured(stream) && !known_verdict(own)) return Trust::unknown;
  return verdict_of(own, stream).is_passed ? Trust::passed : Trust::failed;
}

Chosen choose(const Options& options, int precision, const ProductShape& shape, bool is_paired, const Device& device,
              cudaStream_t stream) {
  const std::vector<UnitRate> units = device_units(device, options.scheme);
  const std::optional<cuda::Kernel> forced = forced_on_devices().kernel;
  const auto plan_of = [&](const Alphabet* alphabet) {
    Options own = options;
    if (own.plan == nullptr) own.alphabet = alphabet;
    return plan_for(own, precision, shape.inner, is_paired, units);
  };
  std::vector<const Alphabet*> alphabets = alphabets_for(options, precision, shape.inner, units);
  const Alphabet* const cheapest = alphabets.front();
  if (!forced && shape.decides_on(device.gpu) && alphabets.size() > 1) {
    std::vector<std::pair<double, const Alphabet*>> timed;
    for (const Alphabet* alphabet : alphabets) {
      const std::shared_ptr<const Plan> plan = plan_of(alphabet);
      const std::vector<cuda::Kernel> kernels = kernels_for(device, *plan, shape);
      const double clocks = kernels.empty() ? INFINITY : clocks_of(*plan, kernels.front(), shape, device.gpu);
      timed.emplace_back(clocks * over_model(device, options.scheme, *alphabet), alphabet);
    }
    std::stable_sort(timed.begin(), timed.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
    std::transform(timed.begin(), timed.end(), alphabets.begin(), [](const auto& each) { return each.second; });
  }
  std::string fallback, failures;
  for (const Alphabet* alphabet : alphabets) {
    const std::shared_ptr<const Plan> plan = plan_of(alphabet);
    if (plan->alphabet.entry == PlaneEntry::fp64) {
      refuse_option("backend", "'" + std::string(plan->alphabet.name) + "' has no GPU kernel; 'fp4' and 'int8' have");
    }
    if (forced) return {plan, *forced};
    const std::vector<cuda::Kernel> kernels = kernels_for(device, *plan, shape);
    if (const std::optional<cuda::Kernel> kernel = serving(device, *plan, kernels, stream, failures)) {
      if (fallback.empty() && alphabet != cheapest) fallback = small_tiles(*cheapest);
      return {plan, *kernel, fallback};
    }
    if (fallback.empty()) fallback = "backend: " + failures;
  }
  refuse(Fault::no_device, fallback + "; no other backend is left on cuda:" + std::to_string(device.index));
}

cuda::Kernel serving_prepared(const Device& device, const Plan& plan, cuda::Kernel kernel, const ProductShape& shape,
                              cudaStream_t stream) {
  if (forced_on_devices().kernel) return kernel;
  const Element element = element_of(plan, kernel);
  const GpuKernel own{device, true, kernel, element};
  const Verdict& verdict = verdict_of(own, stream);
  if (!verdict.is_passed) {
    refuse(Fault::no_device, "prepared operand: " + own.full_name() +
                                 ", the kernel of its planes, failed its self-test: " + verdict.reason + "; prepare it anew");
  }
  if (!shape.decides_on(device.gpu)) return kernel;
  for (const cuda::Kernel other : kernels_for(device, plan, shape)) {
    if (element_of(plan, other) == element && verdict_of({device, true, other, element}, stream).is_passed) return other;
  }
  return kernel;
}

std::string reason_on(const Device& device, const Options& options, int precision, std::int64_t inner) {
  const bool are_measured = device_rates(device.index).are_measured();
  const RateBasis basis =
      are_measured ? RateBasis{1e12, " TOPS (measured on this machine)"} : RateBasis{1, " of INT8's (typical ratios)"};
  return reason_of(options, precision, inner, device_units(device, options.scheme), basis);
}

const Alphabet& cheapest_on(const Device& device, const Options& options, int precision, std::int64_t inner) {
  return *alphabets_for(options, precision, inner, device_units(device, options.scheme)).front();
}

}  // namespace ozfp4::product
