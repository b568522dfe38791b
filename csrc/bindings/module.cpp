// The extension module `ozfp4._core`: lists what is registered, nothing else.
#include <pybind11/pybind11.h>

#include "bindings/errors.hpp"
#include "bindings/register.hpp"

PYBIND11_MODULE(_core, module) {
  module.doc() = "Exact matrix multiplication on the CPU: plans, the four stages, and whole products.";
  module.attr("WorkspaceError") =
      pybind11::reinterpret_steal<pybind11::object>(PyErr_NewException("ozfp4._core.WorkspaceError", PyExc_MemoryError, nullptr));
  ozfp4::bindings::translate_errors();
  ozfp4::bindings::register_plan(module);
  ozfp4::bindings::register_stages(module);
  ozfp4::bindings::register_product(module);
  ozfp4::bindings::register_plain(module);
  ozfp4::bindings::register_partial(module);
  ozfp4::bindings::register_integers(module);
  ozfp4::bindings::register_left(module);
  ozfp4::bindings::register_runtime(module);
  ozfp4::bindings::register_trust(module);
}
