// What tensors of torch are like but for their data: what two products share that differ in it alone. Asked before every product
// on a GPU, where each attribute that Python reads takes a tenth of a microsecond.
#include <pybind11/pybind11.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

#include "bindings/register.hpp"
#include "bindings/tensors/dlpack.hpp"

namespace ozfp4::bindings {
namespace {

namespace py = pybind11;

constexpr std::uintptr_t kAlignment = 16;  // of addresses, by which launches differ
constexpr std::size_t kMostNumbers = 64;   // of four matrices, each with six axes of a stack

// The numbers that become a key.
class Key {
 public:
  bool add(std::int64_t number) {
    if (count_ == numbers_.size()) return false;
    numbers_[count_++] = number;
    return true;
  }
  py::bytes bytes() const { return {reinterpret_cast<const char*>(numbers_.data()), count_ * sizeof(std::int64_t)}; }

 private:
  std::array<std::int64_t, kMostNumbers> numbers_{};
  std::size_t count_ = 0;
};

class TensorForms {
 public:
  // `types` of torch.Tensor and such as compute as it does; `device` is a DLDeviceType.
  TensorForms(const py::capsule& api, py::tuple types, std::int32_t device) : types_(std::move(types)), device_(device) {
    const auto* held = static_cast<const dlpack::ExchangeApi*>(PyCapsule_GetPointer(api.ptr(), dlpack::kCapsule));
    if (held == nullptr) throw py::error_already_set();
    if (held->major != dlpack::kMajor || held->dltensor_from_py_object_no_sync == nullptr) {
      throw std::invalid_argument("api: its version is " + std::to_string(held->major) + "." + std::to_string(held->minor) +
                                  ", or it reads no tensors");
    }
    read_ = held->dltensor_from_py_object_no_sync;
  }

  // A key of all, some of which may be None; None unless each is of the types, dense, with entries, on the device, not negated
  // lazily, and does not require grad where gradients are recorded. Tensors may be conjugated lazily.
  py::object of(const py::tuple& tensors, bool records_gradients) const {
    Key key;
    for (const py::handle x : tensors) {
      if (!(x.is_none() ? key.add(-1) : add(x, records_gradients, key))) return py::none();
    }
    return key.bytes();
  }

 private:
  bool add(py::handle x, bool records_gradients, Key& key) const {
    bool is_known = false;
    for (const py::handle type : types_) is_known = is_known || reinterpret_cast<PyObject*>(Py_TYPE(x.ptr())) == type.ptr();
    if (!is_known) return false;
    dlpack::Tensor held{};
    if (read_(x.ptr(), &held) != 0) {  // sparse, nested, of a dtype that DLPack lacks
      PyErr_Clear();
      return false;
    }
    if (held.data == nullptr || held.device.type != device_ || says(x, names_.is_neg)) return false;
    if (records_gradients && is_set(x, names_.requires_grad)) return false;
    const bool is_conjugated = held.dtype.code == dlpack::kComplex && says(x, names_.is_conj);
    const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(held.data) + held.byte_offset;
    bool fits = key.add(held.ndim) && key.add(held.device.id) && key.add(static_cast<std::int64_t>(address % kAlignment)) &&
                key.add(held.dtype.code << 16 | held.dtype.bits << 8 | int(is_conjugated)) && key.add(held.dtype.lanes);
    for (std::int32_t axis = 0; axis < held.ndim; ++axis) {
      fits = fits && key.add(held.shape[axis]) && key.add(held.strides[axis]);
    }
    return fits;
  }

  static bool is_set(py::handle x, const py::object& attribute) { return is_true(PyObject_GetAttr(x.ptr(), attribute.ptr())); }
  static bool says(py::handle x, const py::object& method) { return is_true(PyObject_CallMethodNoArgs(x.ptr(), method.ptr())); }
  // Takes the reference.
  static bool is_true(PyObject* found) {
    if (found == nullptr) throw py::error_already_set();
    const bool is_true = found == Py_True;
    Py_DECREF(found);
    return is_true;
  }

  struct Names {
    py::object requires_grad = interned("requires_grad"), is_neg = interned("is_neg"), is_conj = interned("is_conj");
    static py::object interned(const char* name) { return py::reinterpret_steal<py::object>(PyUnicode_InternFromString(name)); }
  };

  py::tuple types_;
  std::int32_t device_;
  int (*read_)(void*, dlpack::Tensor*) = nullptr;
  Names names_;
};

}  // namespace

void register_tensors(py::module_& module) {
  py::class_<TensorForms>(module, "TensorForms")
      .def(py::init<const py::capsule&, py::tuple, std::int32_t>(), py::arg("api"), py::arg("types"),
           py::arg("device") = dlpack::kCuda)
      .def("of", &TensorForms::of, py::arg("tensors"), py::arg("records_gradients"));
}

}  // namespace ozfp4::bindings
