// Errors of C++ as those of Python. WorkspaceError is a MemoryError with the attribute `least`.
#pragma once

#include <pybind11/pybind11.h>

#include "plan/workspace_error.hpp"
#include "product/refusal.hpp"

namespace ozfp4::bindings {

inline void set_workspace_error(const WorkspaceError& error) {
  namespace py = pybind11;
  const py::object kind = py::module_::import("ozfp4._core").attr("WorkspaceError");
  const py::object made = kind(error.what());
  made.attr("least") = error.least();
  PyErr_SetObject(kind.ptr(), made.ptr());
}

inline void set_refusal(const product::Refusal& refusal) {
  namespace py = pybind11;
  const auto kind = [&]() -> PyObject* {
    using product::Fault;
    switch (refusal.fault()) {
      case Fault::argument:
      case Fault::unsupported: return PyExc_ValueError;
      case Fault::out_of_memory: return PyExc_MemoryError;
      case Fault::overflow: return PyExc_OverflowError;
      case Fault::workspace: return py::module_::import("ozfp4._core").attr("WorkspaceError").ptr();
      case Fault::no_device:
      case Fault::device_error:
      case Fault::internal: break;
    }
    return PyExc_RuntimeError;
  };
  PyErr_SetString(kind(), refusal.what());
}

// Each module translates what it throws itself.
inline void translate_errors() {
  pybind11::register_local_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const WorkspaceError& error) {
      set_workspace_error(error);
    } catch (const product::Refusal& refusal) {
      set_refusal(refusal);
    }
  });
}

}  // namespace ozfp4::bindings
