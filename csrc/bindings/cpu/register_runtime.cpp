// What products on the CPU run in: threads, and the floating-point mode.
#include <pybind11/pybind11.h>

#include <optional>

#include "bindings/register.hpp"
#include "cpu/runtime/fp_mode.hpp"
#include "cpu/runtime/threads.hpp"
#include "product/measured.hpp"

namespace ozfp4::bindings {
namespace {

namespace py = pybind11;

// A context: its thread is in the default floating-point mode.
struct FpModeContext {
  std::optional<DefaultFpMode> mode;
};

}  // namespace

void register_runtime(pybind11::module_& module) {
  module.def("thread_count", &thread_count);
  module.def("read_environment", &read_measured);
  module.def("set_thread_count", &set_thread_count, py::arg("count"));
  py::class_<FpModeContext>(module, "DefaultFpMode")
      .def(py::init())
      .def("__enter__", [](FpModeContext& context) { context.mode.emplace(); })
      .def("__exit__", [](FpModeContext& context, const py::args&) { context.mode.reset(); });
}

}  // namespace ozfp4::bindings
