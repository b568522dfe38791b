// WorkspaceError of C++ as that of Python, a MemoryError with the attribute `least`.
#pragma once

#include <pybind11/pybind11.h>

#include "plan/workspace_error.hpp"

namespace ozfp4::bindings {

inline void set_workspace_error(const WorkspaceError& error) {
  namespace py = pybind11;
  const py::object kind = py::module_::import("ozfp4._core").attr("WorkspaceError");
  const py::object made = kind(error.what());
  made.attr("least") = error.least();
  PyErr_SetObject(kind.ptr(), made.ptr());
}

// Each module translates what it throws itself.
inline void translate_workspace_errors() {
  pybind11::register_local_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const WorkspaceError& error) {
      set_workspace_error(error);
    }
  });
}

}  // namespace ozfp4::bindings
