// Products of NumPy arrays and of torch's tensors on the CPU where all is plain.
#include "bindings/product/plain.hpp"

#include <pybind11/numpy.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "bindings/product/arrays.hpp"
#include "bindings/product/run.hpp"
#include "bindings/register.hpp"
#include "bindings/tensors/python.hpp"
#include "bindings/tensors/reader.hpp"
#include "product/choose.hpp"

namespace ozfp4::bindings {
namespace {

namespace py = pybind11;
using namespace product;

constexpr std::array<EntryType, 4> kTypes{kD, kS, kZ, kC};

bool is_array(PyObject* x) {
  return reinterpret_cast<PyObject*>(Py_TYPE(x)) == reinterpret_cast<PyObject*>(py::detail::npy_api::get().PyArray_Type_);
}

// `make` makes a result of a type and a shape, as its library has it and where its entries lie.
template <class Matrices, class Read, class Make>
py::object multiply(const PlainArguments& given, const Read& read, const Make& make) {
  return with_plain<Matrices>(given, read, [&](const PlainProduct<Matrices>& found) -> py::object {
    const bool is_long = found.a.shape(found.a.ndim() - 1) > kLongestCertified / 2;
    if (is_long || is_conjugated(found.a) || is_conjugated(found.b)) return not_plain();
    const auto made =
        found.out ? std::make_pair(py::reinterpret_borrow<py::object>(given.out), *found.out) : make(found.type, found.shape);
    const Product p = found.template into<PreparedMatrix>(made.second);
    run([&](Ran& ran) { product::multiply(p, found.options, ran); });
    return made.first;
  });
}

// The product of NumPy arrays.
py::object multiply_plain(PyObject* const* given, Py_ssize_t count) {
  const auto read = [](PyObject* x) {
    return is_array(x) ? std::make_optional(py::reinterpret_borrow<py::array>(x)) : std::nullopt;
  };
  const auto make = [](const EntryType& type, const StackExtents& shape) {
    const py::array c(dtype_of(type), shape);
    return std::make_pair(py::object(c), c);
  };
  return multiply<py::array>(plain_arguments(given, count), read, make);
}

// Products of torch's tensors on the CPU.
class PlainTensors {
 public:
  // `makers` of tensors of a shape and strides, of float64, float32, complex128 and complex64.
  PlainTensors(const py::object& api, const py::object& unwatched, const py::tuple& makers, py::object increment_version)
      : reader_(api, unwatched, dlpack::kCpu, {}), increment_version_(std::move(increment_version)) {
    if (!reader_.has_structures()) throw py::value_error("api: None, or of a version whose structures are unknown");
    if (makers.size() != makers_.size()) throw py::value_error("makers: one for each of four dtypes is needed");
    for (std::size_t i = 0; i < makers_.size(); ++i) makers_[i] = makers[i];
  }

  py::object multiply(PyObject* const* given, Py_ssize_t count) const {
    const PlainArguments arguments = plain_arguments(given, count);
    if (arguments.may_be_watched && !reader_.nothing_watches()) return not_plain();
    const auto read = [this](PyObject* x) { return reader_.read_plain(x); };
    const auto make = [this](const EntryType& type, const StackExtents& shape) { return made(type, shape); };
    py::object c = bindings::multiply<TensorView>(arguments, read, make);
    const bool is_made = !c.is(not_plain());
    if (is_made && arguments.out != Py_None) answer_of(PyObject_CallOneArg(increment_version_.ptr(), c.ptr()));
    return c;
  }

 private:
  // Entries row by row.
  std::pair<py::object, TensorView> made(const EntryType& type, const StackExtents& shape) const {
    const auto is_own = [&](const EntryType& x) { return is_same(x, type); };
    const auto at = std::find_if(kTypes.begin(), kTypes.end(), is_own) - kTypes.begin();
    const auto& [extents, strides] = dense_layout(shape);
    PyObject* const maker = makers_[static_cast<std::size_t>(at)].ptr();
    return reader_.read_made(answer_of(PyObject_CallFunctionObjArgs(maker, extents.ptr(), strides.ptr(), nullptr)));
  }

  TensorReader reader_;
  std::array<py::object, 4> makers_;
  py::object increment_version_;
};

py::object are_here(const Unwatched& own, PyObject* const* given, Py_ssize_t count) {
  return py::bool_(own.are_here(tuple_at(given, count, 0, 1)));
}

py::object multiply_tensors(const PlainTensors& own, PyObject* const* given, Py_ssize_t count) {
  return own.multiply(given, count);
}

}  // namespace

void register_plain(py::module_& module) {
  py::class_<Unwatched>(module, "Unwatched")
      .def(py::init([](py::tuple types, const py::kwargs& functions) { return Unwatched(std::move(types), functions); }))
      .def("are", &Unwatched::are)
      .def_property_readonly("are_here", [](const Unwatched& own) {
        return builtin_of<Unwatched, are_here>(std::make_unique<Unwatched>(own), "are_here");
      });
  module.attr("multiply_plain") = builtin<multiply_plain>("multiply_plain");
  module.def("plain_tensors",
             [](const py::object& api, const py::object& unwatched, const py::tuple& makers, py::object increment_version) {
               auto made = std::make_unique<PlainTensors>(api, unwatched, makers, std::move(increment_version));
               return builtin_of<PlainTensors, multiply_tensors>(std::move(made), "multiply_tensors");
             });
}

}  // namespace ozfp4::bindings
