// The self-test of a GPU's kernels, as bindings/cpu/register_trust of those of the CPU.
#include <string>
#include <utility>
#include <vector>

#include "bindings/cuda/register.hpp"
#include "bindings/verdicts.hpp"
#include "product/trust/gpu.hpp"

namespace ozfp4::bindings {

namespace py = pybind11;

void register_trust(py::module_& module) {
  module.def(
      "kernels_of",
      [](int device, const Plan* plan) {
        std::vector<std::pair<std::string, std::string>> named;
        for (const product::KernelName& kernel : product::device_kernels(device, plan)) {
          named.emplace_back(kernel.name, kernel.element);
        }
        return named;
      },
      py::arg("device"), py::arg("plan"));
  module.def("device_facts", [](int device) { return as_dict(product::find_device_facts(device)); }, py::arg("device"));
  module.def(
      "verdict_of",
      [](int device, const std::string& name, const std::string& element) {
        return found_dict([&] { return product::find_device_verdict(device, {name, element}); });
      },
      py::arg("device"), py::arg("name"), py::arg("element"));
  module.def(
      "known_verdict",
      [](int device, const std::string& name, const std::string& element) {
        return as_dict(product::known_device_verdict(device, {name, element}));
      },
      py::arg("device"), py::arg("name"), py::arg("element"));
  module.def(
      "test_kernel",
      [](int device, const std::string& name, const std::string& element, bool is_short) {
        return found_dict([&] { return product::test_on_device(device, {name, element}, is_short); });
      },
      py::arg("device"), py::arg("name"), py::arg("element"), py::arg("short"));
  module.def("failed_kernels", [] {
    py::list found;
    for (const auto& [device, kernel] : product::failed_device_kernels()) {
      found.append(py::make_tuple(device, kernel.name, kernel.element));
    }
    return found;
  });
  module.def("forget_verdicts", [] { product::forget_device_verdicts(); });
  module.def(
      "break_kernels", [](const NamedElements& kernels) { product::break_device_kernels(kernel_names(kernels)); },
      py::arg("kernels"));
}

}  // namespace ozfp4::bindings
