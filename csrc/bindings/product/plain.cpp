// matmul(a, b, out, accuracy, keywords) where all is plain: the product, or NotImplemented for whatever is not plain or not
// right, of which Python finds out more. Short products take less time than Python's checks.
#include <pybind11/numpy.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "bindings/product/arrays.hpp"
#include "bindings/product/options.hpp"
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

py::object unknown() { return py::reinterpret_borrow<py::object>(Py_NotImplemented); }

bool is_writeable(const py::array& x) { return x.writeable(); }
bool is_writeable(const TensorView&) { return true; }

// A result as its library has it, and its memory.
template <class Matrices>
using Made = std::pair<py::object, Matrices>;

// `out`: where it goes, else `make` makes a result of a type and a shape.
template <class Matrices, class Make>
py::object multiply(const Matrices& a, const Matrices& b, const std::optional<Made<Matrices>>& out, py::handle accuracy,
                    py::handle keywords, const Make& make) {
  const py::ssize_t rank_a = a.ndim(), rank_b = b.ndim();
  if (rank_a == 0 || rank_b == 0 || (rank_a == 1 && rank_b == 1)) return unknown();
  const std::optional<EntryType> type_a = own_type(a), type_b = own_type(b);
  const py::ssize_t k = a.shape(rank_a - 1);
  if (!type_a || !type_b || !inner_fits(a, b) || k > kLongestCertified / 2) return unknown();
  const std::optional<StackExtents> stack = broadcast(a, b);
  if (!stack) return unknown();
  const std::optional<Options> options = plain_options(accuracy, keywords);
  if (!options) return unknown();
  const EntryType type = promoted(*type_a, *type_b);
  const StackExtents shape = result_shape(a, b, *stack);
  if (out) {
    const Matrices& place = out->second;
    const std::optional<EntryType> own = own_type(place);
    if (!own || !is_same(*own, type) || !has_shape(place, shape) || !is_writeable(place)) return unknown();
    if (may_overlap_itself(place) || may_overlap(place, a) || may_overlap(place, b)) return unknown();
  }
  const Made<Matrices> made = out ? *out : make(type, shape);
  const Product p = product_of(Given<Matrices, PreparedMatrix>{a, b, made.second}, *type_a, *type_b, type, *stack);
  run([&](Ran& ran) { product::multiply(p, *options, ran); });
  return made.first;
}

bool is_array(PyObject* x) {
  return reinterpret_cast<PyObject*>(Py_TYPE(x)) == reinterpret_cast<PyObject*>(py::detail::npy_api::get().PyArray_Type_);
}

// The product of NumPy arrays.
py::object multiply_plain(PyObject* const* given, Py_ssize_t count) {
  const bool has_out = count == 5 && given[2] != Py_None;
  if (count != 5 || !is_array(given[0]) || !is_array(given[1]) || (has_out && !is_array(given[2]))) return unknown();
  const auto at = [&](int i) { return py::reinterpret_borrow<py::array>(given[i]); };
  const auto make = [](const EntryType& type, const StackExtents& shape) {
    const py::array c(dtype_of(type), shape);
    return Made<py::array>{c, c};
  };
  const auto out = has_out ? std::optional<Made<py::array>>({at(2), at(2)}) : std::nullopt;
  return multiply(at(0), at(1), out, given[3], given[4], make);
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
    if (count != 5) return unknown();
    const bool has_out = given[2] != Py_None;
    const std::optional<TensorView> a = taken(given[0]), b = a ? taken(given[1]) : std::nullopt;
    if (!b || !reader_.nothing_watches()) return unknown();
    std::optional<Made<TensorView>> out;
    if (has_out) {
      const std::optional<TensorView> memory = taken(given[2]);
      if (!memory) return unknown();
      out = {py::reinterpret_borrow<py::object>(given[2]), *memory};
    }
    const auto make = [this](const EntryType& type, const StackExtents& shape) { return made(type, shape); };
    py::object c = bindings::multiply(*a, *b, out, given[3], given[4], make);
    if (out && c.ptr() != Py_NotImplemented) answer_of(PyObject_CallOneArg(increment_version_.ptr(), c.ptr()));
    return c;
  }

 private:
  std::optional<TensorView> taken(py::handle x) const {
    std::optional<TensorView> view = reader_.read_plain(x);
    return view && !view->is_conjugated() ? view : std::nullopt;
  }

  // Entries row by row.
  Made<TensorView> made(const EntryType& type, const StackExtents& shape) const {
    const auto is_own = [&](const EntryType& x) { return is_same(x, type); };
    const auto at = std::find_if(kTypes.begin(), kTypes.end(), is_own) - kTypes.begin();
    const auto& [extents, strides] = dense_layout(shape);
    PyObject* const maker = makers_[static_cast<std::size_t>(at)].ptr();
    py::object c = answer_of(PyObject_CallFunctionObjArgs(maker, extents.ptr(), strides.ptr(), nullptr));
    const std::optional<TensorView> view = reader_.read_unchecked(c);
    if (!view) throw std::runtime_error("torch makes no plain tensor");
    return {std::move(c), *view};
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
