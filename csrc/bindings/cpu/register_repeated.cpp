#include <pybind11/numpy.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "bindings/cpu/repaired.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/prepared/stack.hpp"
#include "bindings/register.hpp"
#include "bindings/tensors/python.hpp"
#include "bindings/views.hpp"
#include "cpu/bytes/kernels/kernel.hpp"
#include "cpu/matmul.hpp"

namespace ozfp4::bindings {
namespace {

// A product of two matrices of known dtypes, all of which has been decided: what differs is their extents, strides and data.
class RepeatedMatmul {
 public:
  RepeatedMatmul(py::object plan, const py::array& a, const py::array& b, py::dtype result, std::int64_t workspace_limit,
                 const std::string& accuracy, const std::string& rounding, const std::string& way)
      : held_(std::move(plan)),
        plan_(held_.cast<const Plan&>()),
        type_a_(element_type(a)),
        type_b_(element_type(b)),
        dtype_(std::move(result)),
        rounding_(rounding_named(rounding)),
        kernel_(serving_byte_kernel()) {
    type_ = dtype_.equal(py::dtype::of<double>()) ? ElementType::float64 : ElementType::float32;
    if (!is_float(type_a_) || !is_float(type_b_)) throw py::type_error("a, b: float64 or float32 is needed");
    options_.workspace_limit = workspace_limit;
    options_.promise = {accuracy_named(accuracy), type_ == ElementType::float64 ? 53 : 24};
    options_.way = way_named(way);
    options_.wants_times = false;
    options_.progress = [](double done) {
      if (done == 1.0) return;  // the interpreter looks for signals itself as soon as it has the result
      const Locked locked;
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    };
    if (plan_.is_complex) throw py::value_error("plan: one of real products is needed");
    if (options_.promise.certifies() && plan_.bits < accuracy_bits(options_.promise.accuracy, options_.promise.precision)) {
      throw py::value_error("plan: its bits are too few for the accuracy");
    }
  }

  // None where another kernel multiplies bytes by now, and so another decision may be due. Range: the dtypes of the arrays that
  // it was made with.
  py::object multiply(const py::array& a, const py::array& b) const {
    if (serving_byte_kernel() != kernel_) return py::none();
    require_dimensions(a, 2);
    require_dimensions(b, 2);
    if (a.shape(1) != b.shape(0) || a.shape(1) > plan_.k_max) throw py::value_error("matrix extents do not fit");
    if (a.itemsize() != entry_bytes(type_a_) || b.itemsize() != entry_bytes(type_b_)) throw py::type_error("dtypes differ");
    py::array out(dtype_, {a.shape(0), b.shape(1)});
    const Target target{
        {static_cast<char*>(out.mutable_data()), type_, out.shape(0), out.shape(1), out.strides(0), out.strides(1)}, rounding_};
    const OperandView view_a = operand_view(a, type_a_, false, static_cast<const char*>(a.data()));
    const OperandView view_b = operand_view(b, type_b_, true, static_cast<const char*>(b.data()));
    {
      const Unlocked unlocked;
      count_repaired(cpu_matmul(plan_, view_a, view_b, {target}, options_));
    }
    return out;
  }

 private:
  py::object held_;
  const Plan& plan_;
  ElementType type_a_, type_b_, type_ = ElementType::float64;
  py::dtype dtype_;
  Rounding rounding_;
  const ByteKernel* kernel_;
  MatmulOptions options_;
};

constexpr Py_ssize_t kSettings = 3, kMostGiven = 8;  // a place among the arguments, and how many there are at most

py::tuple extents_of(const py::array& array) {
  py::tuple found(array.ndim());
  for (py::ssize_t axis = 0; axis < array.ndim(); ++axis) {
    PyTuple_SET_ITEM(found.ptr(), axis, answer_of(PyLong_FromSsize_t(array.shape()[axis])).release().ptr());
  }
  return found;
}

// What a product is asked by, beside the data. Numbers among the settings have their types beside them: 2.0 == 2, and True == 1.
py::tuple likeness_of(const py::array& a, const py::array& b, PyObject* settings, PyObject* const* since, Py_ssize_t count) {
  const Py_ssize_t asked = PyTuple_GET_SIZE(settings);
  py::tuple types(asked), found(6 + count);
  for (Py_ssize_t i = 0; i < asked; ++i) {
    PyTuple_SET_ITEM(types.ptr(), i, Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(PyTuple_GET_ITEM(settings, i)))));
  }
  const py::object own[] = {extents_of(a), extents_of(b), a.dtype(), b.dtype(), std::move(types)};
  Py_ssize_t at = 0;
  for (const py::object& each : own) PyTuple_SET_ITEM(found.ptr(), at++, Py_NewRef(each.ptr()));
  PyTuple_SET_ITEM(found.ptr(), at++, Py_NewRef(settings));
  for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SET_ITEM(found.ptr(), at++, Py_NewRef(since[i]));
  return found;
}

// What was found last of some likenesses, by what these were made of: objects are compared by where they lie, which takes a fifth
// of what it takes to make a likeness, to hash and to compare it. All are held, so that no other comes to lie there.
class Recent {
 public:
  struct Found {
    py::object held;  // as another thread may find another product in its place
    const RepeatedMatmul* product = nullptr;
  };

  // Nothing where another product was the last one.
  Found find(PyObject* const* given, Py_ssize_t count, const py::array& a, const py::array& b) const {
    const Entry& last = entries_[place_of(a, b)];
    const bool is_alike = last.count == count && last.given[0] == given[0] && a.ndim() == 2 && b.ndim() == 2 &&
                          a.shape(0) == last.rows && a.shape(1) == last.inner && b.shape(0) == last.inner &&
                          b.shape(1) == last.columns && descriptor(a) == last.type_a && descriptor(b) == last.type_b;
    if (!is_alike || !std::equal(given + kSettings + 1, given + count, last.given + kSettings + 1)) return {};
    const Py_ssize_t asked = PyTuple_GET_SIZE(given[kSettings]);
    if (asked != PyTuple_GET_SIZE(last.given[kSettings])) return {};
    for (Py_ssize_t i = 0; i < asked; ++i) {
      if (PyTuple_GET_ITEM(given[kSettings], i) != PyTuple_GET_ITEM(last.given[kSettings], i)) return {};
    }
    return last.found;
  }

  // Range: a, b of two axes; count at most kMostGiven.
  void keep(PyObject* const* given, Py_ssize_t count, const py::array& a, const py::array& b, py::object product) {
    Entry next;
    next.count = count;
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (i != 1 && i != 2) next.given[i] = Py_NewRef(given[i]);  // the arrays themselves are not held
    }
    next.rows = a.shape(0), next.inner = a.shape(1), next.columns = b.shape(1);
    next.type_a = Py_NewRef(descriptor(a)), next.type_b = Py_NewRef(descriptor(b));
    next.found.product = &product.cast<const RepeatedMatmul&>();
    next.found.held = std::move(product);
    std::swap(entries_[place_of(a, b)], next);  // before what was there is let go, which may run anything
    for (PyObject* each : next.given) Py_XDECREF(each);
    Py_XDECREF(next.type_a);
    Py_XDECREF(next.type_b);
  }

 private:
  struct Entry {
    Py_ssize_t count = 0;
    PyObject* given[kMostGiven] = {};
    py::ssize_t rows = 0, inner = 0, columns = 0;
    PyObject *type_a = nullptr, *type_b = nullptr;
    Found found;
  };

  static PyObject* descriptor(const py::array& x) { return py::detail::array_proxy(x.ptr())->descr; }
  static std::size_t place_of(const py::array& a, const py::array& b) {
    if (a.ndim() != 2 || b.ndim() != 2) return 0;
    return static_cast<std::size_t>(a.shape(0) + 5 * a.shape(1) + 11 * b.shape(1)) % 16;
  }

  std::array<Entry, 16> entries_;
};

// repeated(made, a, b, settings, *since): what the product of these arrays has in common with those that differ in their data
// alone, and the product by what `made` has under that; None where it has nothing, and both where an argument is not hashable or
// A holds no floating-point numbers. The likeness is None beside a product, too.
py::object repeated(PyObject* const* given, Py_ssize_t count) {
  if (count <= kSettings || count > kMostGiven || !PyDict_CheckExact(given[0]) || !PyTuple_CheckExact(given[kSettings])) {
    throw py::type_error("made, a, b, settings, *since: are needed");
  }
  for (const int i : {1, 2}) {
    if (!py::isinstance<py::array>(given[i])) throw py::type_error("a, b: arrays are needed");
  }
  static auto& recent = *new Recent;  // beyond the interpreter's end, which lets no more objects go
  const auto a = py::reinterpret_borrow<py::array>(given[1]), b = py::reinterpret_borrow<py::array>(given[2]);
  if (const Recent::Found last = recent.find(given, count, a, b); last.product != nullptr) {
    py::object made = last.product->multiply(a, b);
    if (!made.is_none()) return py::make_tuple(py::none(), std::move(made));
  }
  if (a.dtype().kind() != 'f') return py::make_tuple(py::none(), py::none());
  const py::tuple like = likeness_of(a, b, given[kSettings], given + kSettings + 1, count - kSettings - 1);
  const std::optional<py::object> before = found_in(given[0], like);
  if (!before) return py::make_tuple(py::none(), py::none());
  if (!*before) return py::make_tuple(like, py::none());
  recent.keep(given, count, a, b, *before);
  return py::make_tuple(like, before->cast<const RepeatedMatmul&>().multiply(a, b));
}

}  // namespace

void register_repeated(py::module_& module) {
  py::class_<RepeatedMatmul>(module, "RepeatedMatmul")
      .def(py::init<py::object, const py::array&, const py::array&, py::dtype, std::int64_t, const std::string&,
                    const std::string&, const std::string&>(),
           py::arg("plan"), py::arg("a"), py::arg("b"), py::arg("dtype"), py::arg("workspace_limit"), py::arg("accuracy"),
           py::arg("rounding"), py::arg("way"));
  module.attr("repeated") = builtin<repeated>("repeated");
}

}  // namespace ozfp4::bindings
