// The self-test of the CPU's kernels: what is known, and a test now. Kernels go by name and element.
#include <string>
#include <vector>

#include "bindings/product/run.hpp"
#include "bindings/register.hpp"
#include "bindings/verdicts.hpp"
#include "product/cpu/units.hpp"
#include "product/trust/cpu.hpp"
#include "product/trust/examination.hpp"
#include "product/trust/machine.hpp"

namespace ozfp4::bindings {

namespace py = pybind11;
using namespace product;

namespace {

NamedElements names_of(const std::vector<CpuKernel>& kernels) {
  NamedElements found;
  for (const CpuKernel& kernel : kernels) found.emplace_back(kernel.name().name, kernel.name().element);
  return found;
}

}  // namespace

void warn_of_failures() {
  static int last = 0;  // guarded by the interpreter's lock
  const int failed = failure_count();
  if (failed == last) return;
  py::module_::import("ozfp4._trust.guard").attr("tell_failures")();
  last = failed;
}

void register_trust(py::module_& module) {
  module.def("cpu_facts", [] { return as_dict(cpu_facts()); });
  register_verdicts<>(
      module, [](const KernelName& name) { return verdict_of(find_cpu_kernel(name)); },
      [](const KernelName& name) { return known_verdict(find_cpu_kernel(name)); },
      [](const KernelName& name, bool is_short) { return test(find_cpu_kernel(name), is_short); });
  module.def("cpu_kernels", [] { return names_of(cpu_kernels()); });
  module.def("failed_kernels", [] { return names_of(failed_kernels()); });
  module.def("serving_kernel", [](const std::string& alphabet) {
    return planes_kernel(serving_byte_kernel(), find_alphabet(alphabet)).name().name;
  });
  module.def("check_trusted", [](const std::string& alphabet) {
    warning_of_failures([&] {
      const Unlocked unlocked;
      check_trusted(find_alphabet(alphabet));
      return true;
    });
  });
  module.def("forget_verdicts", &forget_cpu_verdicts);
  module.def("break_kernels", [](const NamedElements& kernels) { break_kernels(kernel_names(kernels)); });
}

}  // namespace ozfp4::bindings
