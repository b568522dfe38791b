// Tensors for Python: whether torch surely does without seeing their products; those on the CPU as NumPy arrays of
// the same memory. Tensor.numpy() makes such ones too, and has torch never resize the storage again.
#include "bindings/tensors/storage.hpp"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bindings/register.hpp"
#include "bindings/tensors/python.hpp"
#include "bindings/tensors/unwatched.hpp"

namespace ozfp4::bindings {

namespace py = pybind11;

namespace {

struct Names {
  py::object shape = interned("shape"), stride = interned("stride"), element_size = interned("element_size"),
             is_meta = interned("is_meta");
  Storages storages;
};

const Names& names() {
  static const auto& held = *new Names;  // it outlives the interpreter
  return held;
}

std::vector<py::ssize_t> numbers(const py::object& found) {
  const auto each = py::reinterpret_borrow<py::tuple>(found);
  std::vector<py::ssize_t> result(each.size());
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = number_of(PyTuple_GET_ITEM(each.ptr(), i));
  return result;
}

struct Layout {
  std::vector<py::ssize_t> shape, strides;  // in bytes
  py::ssize_t entry_bytes;
  void* data;
};

[[noreturn]] void refuse(py::handle name, const std::string& reason) {
  throw std::runtime_error(std::string(py::str(name)) + ": " + reason);
}

// Throws std::runtime_error that calls the tensor by its name where its storage is too small, or none is to be seen.
Layout checked_layout(py::handle name, py::handle tensor) {
  const Names& own = names();
  Layout found{numbers(answer_of(PyObject_GetAttr(tensor.ptr(), own.shape.ptr()))),
               numbers(answer_of(PyObject_CallMethodNoArgs(tensor.ptr(), own.stride.ptr()))),
               number_of(answer_of(PyObject_CallMethodNoArgs(tensor.ptr(), own.element_size.ptr()))), nullptr};
  for (py::ssize_t& stride : found.strides) stride *= found.entry_bytes;
  Reach reach{};
  try {
    reach = own.storages.reach(tensor, static_cast<int>(found.shape.size()), found.shape, found.strides, found.entry_bytes);
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_NotImplementedError)) throw;
    refuse(name, "torch shows no memory of this tensor, as of those that torch.func maps or derives: " +
                     std::string(py::str(error.value())));
  }
  if (!reach.fits()) {
    refuse(name, "its entries reach over " + std::to_string(reach.needed) + " bytes of its storage, which has " +
                     std::to_string(reach.held) + ": it was freed or resized, as untyped_storage().resize_() does");
  }
  if (reach.needed == 0) return found;
  found.data = address_of(tensor);
  if (found.data == nullptr && !is_set(tensor, own.is_meta)) {
    refuse(name, "torch holds no memory for its entries, as of a ZeroTensor; clone() gives it some");
  }
  return found;
}

void check_count(Py_ssize_t count, Py_ssize_t needed) {
  if (count != needed) throw py::type_error("another number of arguments");
}

// (name, tensor)
py::object check_storage(PyObject* const* given, Py_ssize_t count) {
  check_count(count, 2);
  checked_layout(given[0], given[1]);
  return py::none();
}

// (name, tensor, NumPy's dtype): an array whose base is the tensor, or of no entries. Range: on the CPU, dense, not lazy.
py::object array_of_tensor(PyObject* const* given, Py_ssize_t count) {
  check_count(count, 3);
  Layout found = checked_layout(given[0], given[1]);
  const auto dtype = py::reinterpret_borrow<py::dtype>(given[2]);
  if (dtype.itemsize() != found.entry_bytes) throw py::type_error("dtype: its entries have another number of bytes");
  return py::array(dtype, std::move(found.shape), std::move(found.strides), found.data, given[1]);
}

py::object are_here(const Unwatched& own, PyObject* const* given, Py_ssize_t count) {
  return py::bool_(own.are_here(tuple_at(given, count, 0, 1)));
}

}  // namespace

void register_tensors(py::module_& module) {
  py::class_<Unwatched>(module, "Unwatched")
      .def(py::init([](py::tuple types, const py::kwargs& functions) { return Unwatched(std::move(types), functions); }))
      .def("are", &Unwatched::are, py::arg("operands"))
      .def_property_readonly("are_here", [](const Unwatched& own) {
        return builtin_of<Unwatched, are_here>(std::make_unique<Unwatched>(own), "are_here");
      });
  module.attr("check_storage") = builtin<&check_storage>("check_storage");
  module.attr("array_of_tensor") = builtin<&array_of_tensor>("array_of_tensor");
}

}  // namespace ozfp4::bindings
