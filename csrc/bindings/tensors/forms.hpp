// What tensors of torch are like but for their data: what two products share that differ in it alone. Asked before every product
// on a GPU, where each attribute that Python reads takes a tenth of a microsecond.
#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "bindings/tensors/dlpack.hpp"
#include "bindings/tensors/python.hpp"
#include "bindings/tensors/reader.hpp"
#include "bindings/tensors/repeat.hpp"

namespace ozfp4::bindings {

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
  pybind11::bytes bytes() const { return {reinterpret_cast<const char*>(numbers_.data()), count_ * sizeof(std::int64_t)}; }

 private:
  std::array<std::int64_t, kMostNumbers> numbers_{};
  std::size_t count_ = 0;
};

class TensorForms {
 public:
  // As of a TensorReader.
  TensorForms(const pybind11::capsule& api, const pybind11::object& unwatched, std::int32_t device)
      : reader_(api, unwatched, device) {}

  // A key of all, some of which may be None; None unless the reader reads each of the others. Tensors may be conjugated lazily.
  // None, too, where `is_asked` and something may watch.
  pybind11::object of(const pybind11::tuple& tensors, bool is_asked) const {
    Key key;
    Addresses addresses{};
    if (!read(tensors, is_asked, key, addresses)) return pybind11::none();
    return key.bytes();
  }

  // The key with what else products share, and the product of A, B, C and `out` (or None) again: None where `made` has none like
  // it, where more is to be done than a launch, and where `out` may share memory with what is read. Both are None where `of` is.
  pybind11::tuple again(const pybind11::tuple& tensors, pybind11::handle arguments, bool is_asked, pybind11::handle generation,
                        pybind11::handle made, pybind11::handle relaunch) const {
    namespace py = pybind11;
    Key forms;
    Addresses addresses{};
    if (tensors.size() != addresses.size()) throw std::invalid_argument("tensors: A, B, C and out are needed");
    if (!read(tensors, is_asked, forms, addresses)) return py::make_tuple(py::none(), py::none());
    const py::object key = answer_of(PyTuple_Pack(3, generation.ptr(), forms.bytes().ptr(), arguments.ptr()));
    const py::object before = found_in(made, key).value_or(py::object());
    if (!before) return py::make_tuple(key, py::none());
    const py::object repeat = answer_of(PyObject_GetAttr(before.ptr(), repeat_.ptr()));
    return py::make_tuple(key, repeat.cast<const Repeat&>().again(tensors, addresses, relaunch));
  }

 private:
  bool read(const pybind11::tuple& tensors, bool is_asked, Key& key, Addresses& addresses) const {
    if (is_asked && !reader_.nothing_watches()) return false;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const pybind11::handle x = PyTuple_GET_ITEM(tensors.ptr(), static_cast<Py_ssize_t>(i));
      std::uintptr_t address = 0;
      if (!(x.is_none() ? key.add(-1) : add(x, key, address))) return false;
      if (i < addresses.size()) addresses[i] = address;
    }
    return true;
  }

  bool add(pybind11::handle x, Key& key, std::uintptr_t& address) const {
    dlpack::Tensor held{};
    if (!reader_.read(x, held)) return false;
    const bool is_conjugated = reader_.is_conjugated(x, held);
    address = reinterpret_cast<std::uintptr_t>(held.data) + held.byte_offset;
    bool fits = key.add(held.ndim) && key.add(held.device.id) && key.add(static_cast<std::int64_t>(address % kAlignment)) &&
                key.add(held.dtype.code << 16 | held.dtype.bits << 8 | int(is_conjugated)) && key.add(held.dtype.lanes);
    for (std::int32_t axis = 0; axis < held.ndim; ++axis) {
      fits = fits && key.add(held.shape[axis]) && key.add(held.strides[axis]);
    }
    return fits;
  }

  TensorReader reader_;
  pybind11::object repeat_ = interned("repeat");
};

}  // namespace ozfp4::bindings
