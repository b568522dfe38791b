// The kernels for the CPU's INT8 units, as Python sees them: a name and a setting each; and what multiplies limbs.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <vector>

#include "bindings/cpu/byte_kernel.hpp"
#include "bindings/register.hpp"
#include "cpu/limbs/unit.hpp"

namespace ozfp4::bindings {
namespace {

namespace py = pybind11;
// A context: products that this thread begins within it take the kernel of a setting.
struct Forcing {
  const ByteKernel* kernel;
  std::unique_ptr<ForcedKernel> forced = nullptr;
};

}  // namespace

void register_bytes(py::module_& module) {
  module.def("byte_kernels", [] {
    std::vector<NamedKernel> found;
    for (const ByteKernel* kernel : byte_kernels()) found.push_back(*named(kernel));
    return found;
  });
  module.def("serving_byte_kernel", [] { return named(serving_byte_kernel()); });
  module.def("has_limb_unit", [] { return amx_limbs.is_here(); });
  module.def("disable_limb_unit", &disable_limb_unit, py::arg("is_disabled"));
  py::class_<Forcing>(module, "ForcedKernel")
      .def(py::init([](const std::string& setting) { return Forcing{find_byte_kernel(setting, "setting")}; }), py::arg("setting"))
      .def("__enter__", [](Forcing& forcing) { forcing.forced = std::make_unique<ForcedKernel>(forcing.kernel); })
      .def("__exit__", [](Forcing& forcing, const py::args&) { forcing.forced.reset(); });
}

}  // namespace ozfp4::bindings
