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
#include "bindings/tensors/python.hpp"
#include "bindings/tensors/unwatched.hpp"

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
  // `unwatched` knows the types of tensors that compute as torch.Tensor does; `device` is a DLDeviceType.
  TensorForms(const py::capsule& api, py::object unwatched, std::int32_t device)
      : held_(std::move(unwatched)), unwatched_(held_.cast<const Unwatched&>()), device_(device) {
    const auto* held = static_cast<const dlpack::ExchangeApi*>(PyCapsule_GetPointer(api.ptr(), dlpack::kCapsule));
    if (held == nullptr) throw py::error_already_set();
    if (held->major != dlpack::kMajor || held->dltensor_from_py_object_no_sync == nullptr) {
      throw std::invalid_argument("api: its version is " + std::to_string(held->major) + "." + std::to_string(held->minor) +
                                  ", or it reads no tensors");
    }
    read_ = held->dltensor_from_py_object_no_sync;
  }

  // A key of all, some of which may be None; None unless each is plain as Unwatched has it, dense, with entries, on the device,
  // and not negated lazily. Tensors may be conjugated lazily. None, too, where
  // `is_asked` and something may watch.
  py::object of(const py::tuple& tensors, bool is_asked) const {
    if (is_asked && !unwatched_.nothing_watches()) return py::none();
    Key key;
    for (const py::handle x : tensors) {
      if (!(x.is_none() ? key.add(-1) : add(x, key))) return py::none();
    }
    return key.bytes();
  }

 private:
  bool add(py::handle x, Key& key) const {
    if (!unwatched_.is_plain(x)) return false;
    dlpack::Tensor held{};
    if (read_(x.ptr(), &held) != 0) {  // sparse, nested, of a dtype that DLPack lacks
      PyErr_Clear();
      return false;
    }
    if (held.data == nullptr || held.device.type != device_ || says(x, is_neg_)) return false;
    const bool is_conjugated = held.dtype.code == dlpack::kComplex && says(x, is_conj_);
    const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(held.data) + held.byte_offset;
    bool fits = key.add(held.ndim) && key.add(held.device.id) && key.add(static_cast<std::int64_t>(address % kAlignment)) &&
                key.add(held.dtype.code << 16 | held.dtype.bits << 8 | int(is_conjugated)) && key.add(held.dtype.lanes);
    for (std::int32_t axis = 0; axis < held.ndim; ++axis) {
      fits = fits && key.add(held.shape[axis]) && key.add(held.strides[axis]);
    }
    return fits;
  }

  py::object held_;  // keeps the next one
  const Unwatched& unwatched_;
  std::int32_t device_;
  int (*read_)(void*, dlpack::Tensor*) = nullptr;
  py::object is_neg_ = interned("is_neg"), is_conj_ = interned("is_conj");
};

}  // namespace

void register_tensors(py::module_& module) {
  py::class_<Unwatched>(module, "Unwatched")
      .def(py::init<py::tuple, py::object, py::object, py::object, py::object, py::object>(), py::arg("types"),
           py::arg("records_gradients"), py::arg("count_modes"), py::arg("has_watching_mode"), py::arg("find_interpreters"),
           py::arg("forward_mode"))
      .def("are", &Unwatched::are, py::arg("operands"));
  py::class_<TensorForms>(module, "TensorForms")
      .def(py::init<const py::capsule&, py::object, std::int32_t>(), py::arg("api"), py::arg("unwatched"),
           py::arg("device") = dlpack::kCuda)
      .def("of", &TensorForms::of, py::arg("tensors"), py::arg("is_asked") = false);
}

}  // namespace ozfp4::bindings
