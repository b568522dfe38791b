// What is read of tensors before a product of theirs, and what is launched where there was one like it.
#include "bindings/tensors/forms.hpp"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bindings/register.hpp"
#include "bindings/tensors/repeat.hpp"
#include "bindings/tensors/unwatched.hpp"

namespace ozfp4::bindings {

namespace py = pybind11;

namespace {

py::object are_here(const Unwatched& own, PyObject* const* given, Py_ssize_t count) {
  return py::bool_(own.are_here(tuple_at(given, count, 0, 1)));
}

py::object again(const TensorForms& own, PyObject* const* given, Py_ssize_t count) {
  const py::tuple tensors = tuple_at(given, count, 0, 6);
  if (!PyDict_CheckExact(given[4])) throw py::type_error("made: a dictionary is needed");
  return own.again(tensors, given[1], given[2] == Py_True, given[3], given[4], given[5]);
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
  py::class_<Repeat>(module, "Repeat")
      .def(py::init<py::object, py::object, py::object, py::object, const Addresses&, bool, bool>(), py::arg("launchable"),
           py::arg("empty"), py::arg("device"), py::arg("factors"), py::arg("spans"), py::arg("may_be_c"), py::arg("is_whole"))
      .def("may_write", &Repeat::may_write, py::arg("addresses"));
  py::class_<TensorForms>(module, "TensorForms")
      .def(py::init<const py::capsule&, const py::object&, std::int32_t>(), py::arg("api"), py::arg("unwatched"),
           py::arg("device") = dlpack::kCuda)
      .def("of", &TensorForms::of, py::arg("tensors"), py::arg("is_asked") = false)
      .def_property_readonly("again", [](const py::object& self) { return builtin_of<TensorForms, again>(self, "again"); });
}

}  // namespace ozfp4::bindings
