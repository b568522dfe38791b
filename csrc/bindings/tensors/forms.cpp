// What is read of tensors before a product of theirs, and what is launched where there was one like it.
#include "bindings/tensors/forms.hpp"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bindings/register.hpp"
#include "bindings/tensors/repeat.hpp"
#include "bindings/tensors/unwatched.hpp"

namespace ozfp4::bindings {

namespace py = pybind11;

void register_tensors(py::module_& module) {
  py::class_<Unwatched>(module, "Unwatched")
      .def(py::init<py::tuple, py::object, py::object, py::object, py::object, py::object>(), py::arg("types"),
           py::arg("records_gradients"), py::arg("count_modes"), py::arg("has_watching_mode"), py::arg("find_interpreters"),
           py::arg("forward_mode"))
      .def("are", &Unwatched::are, py::arg("operands"))
      .def("are_here", &Unwatched::are_here, py::arg("operands"));
  py::class_<Repeat>(module, "Repeat")
      .def(py::init<py::object, py::object, py::object, py::object, const Addresses&, bool, bool>(), py::arg("launchable"),
           py::arg("empty"), py::arg("device"), py::arg("factors"), py::arg("spans"), py::arg("may_be_c"), py::arg("is_whole"))
      .def("may_write", &Repeat::may_write, py::arg("addresses"));
  py::class_<TensorForms>(module, "TensorForms")
      .def(py::init<const py::capsule&, py::object, std::int32_t>(), py::arg("api"), py::arg("unwatched"),
           py::arg("device") = dlpack::kCuda)
      .def("of", &TensorForms::of, py::arg("tensors"), py::arg("is_asked") = false)
      .def("again", &TensorForms::again, py::arg("tensors"), py::arg("arguments"), py::arg("is_asked"), py::arg("generation"),
           py::arg("made"), py::arg("relaunch"));
}

}  // namespace ozfp4::bindings
