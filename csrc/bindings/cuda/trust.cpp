// The self-test of a GPU's kernels, as bindings/cpu/register_trust of those of the CPU.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/cuda/register.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/verdicts.hpp"
#include "product/trust/gpu.hpp"

namespace ozfp4::bindings {

namespace py = pybind11;

void register_trust(py::module_& module) {
  using Named = std::pair<std::string, std::string>;
  module.def("device_facts", [](int device) { return as_dict(product::find_device_facts(device)); }, py::arg("device"));
  module.def(
      "verdict_of",
      [](int device, const std::string& name, const std::string& element) {
        product::Verdict found;
        {
          const Unlocked unlocked;
          found = product::find_device_verdict(device, {name, element});
        }
        return as_dict(found);
      },
      py::arg("device"), py::arg("name"), py::arg("element"));
  module.def(
      "known_verdict",
      [](int device, const std::string& name, const std::string& element) {
        const std::optional<product::Verdict> found = product::known_device_verdict(device, {name, element});
        return found ? py::object(as_dict(*found)) : py::object(py::none());
      },
      py::arg("device"), py::arg("name"), py::arg("element"));
  module.def(
      "test_kernel",
      [](int device, const std::string& name, const std::string& element, bool is_short) {
        product::Verdict found;
        {
          const Unlocked unlocked;
          found = product::test_on_device(device, {name, element}, is_short);
        }
        return as_dict(found);
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
      "break_kernels",
      [](const std::vector<Named>& kernels) {
        std::vector<product::KernelName> broken;
        for (const auto& [name, element] : kernels) broken.push_back({name, element});
        product::break_device_kernels(broken);
      },
      py::arg("kernels"));
}

}  // namespace ozfp4::bindings
