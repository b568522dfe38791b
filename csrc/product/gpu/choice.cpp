#include "product/gpu/choice.hpp"

#include <string>
#include <vector>

#include "product/choose.hpp"
#include "product/refusal.hpp"

namespace ozfp4::product {

Chosen choose(const Options& options, int precision, std::int64_t inner, bool is_paired, const Device& device,
              cudaStream_t stream) {
  const std::vector<UnitRate> units = device_units(device, options.scheme);
  std::string tried;
  for (const Alphabet* alphabet : alphabets_for(options, precision, inner, units)) {
    Options own = options;
    if (own.plan == nullptr) own.alphabet = alphabet;
    const std::shared_ptr<const Plan> plan = plan_for(own, precision, inner, is_paired, units);
    if (plan->alphabet.entry == PlaneEntry::fp64) {
      refuse_option("backend", "'fp64' has no GPU kernel; 'fp4' and 'int8' have");
    }
    for (const cuda::Kernel kernel : kernels_for(device, *plan)) {
      if (is_trusted(device, kernel, *plan, stream)) return {plan, kernel};
      tried += std::string(tried.empty() ? "" : ", ") + kernel_name(kernel);
    }
  }
  refuse(Fault::no_device, tried.empty() ? "cuda: no kernel of this build runs on the device"
                                         : "cuda: every kernel for the device failed its self-test: " + tried);
}

}  // namespace ozfp4::product
