#include "product/gpu/choice.hpp"

#include <optional>
#include <string>
#include <vector>

#include "product/choose.hpp"
#include "product/gpu/settings.hpp"
#include "product/refusal.hpp"
#include "product/trust/gpu.hpp"

namespace ozfp4::product {
namespace {

// The first kernel that can be trusted; else none, and `failures` says why.
std::optional<cuda::Kernel> serving(const Device& device, const Plan& plan, cudaStream_t stream, std::string& failures) {
  failures.clear();
  const std::vector<cuda::Kernel> kernels = kernels_for(device, plan);
  for (const cuda::Kernel kernel : kernels) {
    const GpuKernel own{true, kernel, element_of(plan, kernel)};
    const Verdict& verdict = verdict_of(device, own, stream);
    if (verdict.is_passed) return kernel;
    failures += std::string(failures.empty() ? "" : "; ") + full_name(device, own) + ": " + verdict.reason;
  }
  failures = kernels.empty() ? "no kernel of this build multiplies its planes on the device"
                             : std::string("every kernel of '") + plan.alphabet.name + "' failed its self-test: " + failures;
  return std::nullopt;
}

}  // namespace

Chosen choose(const Options& options, int precision, std::int64_t inner, bool is_paired, const Device& device,
              cudaStream_t stream) {
  const std::vector<UnitRate> units = device_units(device, options.scheme);
  const std::optional<cuda::Kernel> forced = forced_on_devices().kernel;
  std::string fallback, failures;
  for (const Alphabet* alphabet : alphabets_for(options, precision, inner, units)) {
    Options own = options;
    if (own.plan == nullptr) own.alphabet = alphabet;
    const std::shared_ptr<const Plan> plan = plan_for(own, precision, inner, is_paired, units);
    if (plan->alphabet.entry == PlaneEntry::fp64) {
      refuse_option("backend", "'fp64' has no GPU kernel; 'fp4' and 'int8' have");
    }
    if (forced) return {plan, *forced};
    if (const std::optional<cuda::Kernel> kernel = serving(device, *plan, stream, failures)) return {plan, *kernel, fallback};
    if (fallback.empty()) fallback = "backend: " + failures;
  }
  refuse(Fault::no_device, fallback + "; no other backend is left on cuda:" + std::to_string(device.index));
}

void check_serving(const Device& device, const Plan& plan, cuda::Kernel kernel, cudaStream_t stream) {
  if (forced_on_devices().kernel) return;
  const GpuKernel own{true, kernel, element_of(plan, kernel)};
  const Verdict& verdict = verdict_of(device, own, stream);
  if (verdict.is_passed) return;
  refuse(Fault::no_device, "prepared operand: " + full_name(device, own) +
                               ", the kernel of its planes, failed its self-test: " + verdict.reason + "; prepare it anew");
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
