// The self-test of a GPU's kernels, as bindings/cpu/register_trust of those of the CPU.
#include "bindings/cuda/register.hpp"
#include "bindings/verdicts.hpp"
#include "product/trust/gpu.hpp"

namespace ozfp4::bindings {

namespace py = pybind11;

void register_trust(py::module_& module) {
  module.def("kernels_of", [](int device, const Plan* plan) {
    NamedElements named;
    for (const product::KernelName& kernel : product::device_kernels(device, plan)) {
      named.emplace_back(kernel.name, kernel.element);
    }
    return named;
  });
  module.def("device_facts", [](int device) { return as_dict(product::find_device_facts(device)); });
  register_verdicts<int>(module, product::find_device_verdict, product::known_device_verdict, product::test_on_device);
  module.def("failed_kernels", [] {
    py::list found;
    for (const auto& [device, kernel] : product::failed_device_kernels()) {
      found.append(py::make_tuple(device, kernel.name, kernel.element));
    }
    return found;
  });
  module.def("forget_verdicts", [] { product::forget_device_verdicts(); });
  module.def("break_kernels", [](const NamedElements& kernels) { product::break_device_kernels(kernel_names(kernels)); });
}

}  // namespace ozfp4::bindings
