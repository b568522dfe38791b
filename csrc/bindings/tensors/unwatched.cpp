// Whether torch surely does without seeing the products of some tensors, to Python.
#include "bindings/tensors/unwatched.hpp"

#include <pybind11/pybind11.h>

#include "bindings/register.hpp"

namespace ozfp4::bindings {

namespace py = pybind11;

namespace {

py::object are_here(const Unwatched& own, PyObject* const* given, Py_ssize_t count) {
  return py::bool_(own.are_here(tuple_at(given, count, 0, 1)));
}

}  // namespace

void register_tensors(py::module_& module) {
  py::class_<Unwatched>(module, "Unwatched")
      .def(py::init<py::tuple, py::object, py::object, py::object, py::object, py::object, py::object, py::str>(),
           py::arg("types"), py::arg("records_gradients"), py::arg("count_modes"), py::arg("has_watching_mode"),
           py::arg("find_interpreters"), py::arg("find_record"), py::arg("forward_mode"), py::arg("level_name"))
      .def("are", &Unwatched::are, py::arg("operands"))
      .def_property_readonly("are_here",
                             [](const py::object& self) { return builtin_of<Unwatched, are_here>(self, "are_here"); });
}

}  // namespace ozfp4::bindings
