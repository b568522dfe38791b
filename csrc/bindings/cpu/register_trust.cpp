// The self-test of the CPU's kernels: what is known, and a test now. Kernels go by name and element.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/cpu/failures.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/register.hpp"
#include "bindings/verdicts.hpp"
#include "product/cpu/units.hpp"
#include "product/trust/cpu.hpp"
#include "product/trust/examination.hpp"
#include "product/trust/machine.hpp"

namespace ozfp4::bindings {

namespace py = pybind11;

using Named = std::pair<std::string, std::string>;

static std::vector<Named> names_of(const std::vector<product::CpuKernel>& kernels) {
  std::vector<Named> found;
  for (const product::CpuKernel& kernel : kernels) found.emplace_back(kernel.name().name, kernel.name().element);
  return found;
}

void tell_failures() {
  static int told = 0;  // guarded by the interpreter's lock
  const int failed = product::failure_count();
  if (failed == told) return;
  py::module_::import("ozfp4._trust.guard").attr("tell_failures")();
  told = failed;
}

void register_trust(py::module_& module) {
  module.def("cpu_facts", [] { return as_dict(product::cpu_facts()); });
  module.def(
      "verdict_of",
      [](const std::string& name, const std::string& element) {
        const product::CpuKernel kernel = product::find_cpu_kernel({name, element});
        const product::Verdict* found = nullptr;
        {
          const Unlocked unlocked;
          found = &product::verdict_of(kernel);
        }
        return as_dict(*found);
      },
      py::arg("name"), py::arg("element"));
  module.def(
      "known_verdict",
      [](const std::string& name, const std::string& element) {
        const std::optional<product::Verdict> found = product::known_verdict(product::find_cpu_kernel({name, element}));
        return found ? py::object(as_dict(*found)) : py::object(py::none());
      },
      py::arg("name"), py::arg("element"));
  module.def(
      "test_kernel",
      [](const std::string& name, const std::string& element, bool is_short) {
        const product::CpuKernel kernel = product::find_cpu_kernel({name, element});
        const product::Verdict* found = nullptr;
        {
          const Unlocked unlocked;
          found = &product::test(kernel, is_short);
        }
        return as_dict(*found);
      },
      py::arg("name"), py::arg("element"), py::arg("short"));
  module.def("cpu_kernels", [] { return names_of(product::cpu_kernels()); });
  module.def("failed_kernels", [] { return names_of(product::failed_kernels()); });
  module.def(
      "serving_kernel",
      [](const std::string& alphabet) {
        return product::planes_kernel(serving_byte_kernel(), find_alphabet(alphabet)).name().name;
      },
      py::arg("alphabet"));
  module.def(
      "check_trusted",
      [](const std::string& alphabet) {
        with_failures_told([&] {
          const Unlocked unlocked;
          product::check_trusted(find_alphabet(alphabet));
          return true;
        });
      },
      py::arg("alphabet"));
  module.def("forget_verdicts", &product::forget_cpu_verdicts);
  module.def(
      "break_kernels",
      [](const std::vector<Named>& kernels) {
        std::vector<product::KernelName> broken;
        for (const auto& [name, element] : kernels) broken.push_back({name, element});
        product::break_kernels(broken);
      },
      py::arg("kernels"));
}

}  // namespace ozfp4::bindings
