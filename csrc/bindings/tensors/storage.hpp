// Whether a tensor's storage still has its entries: a program may free or shorten it behind the tensor's back, as FSDP does
// between its layers, and what then lies there is another's. By methods of tensors, which all versions of torch have.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>

#include "bindings/tensors/python.hpp"

namespace ozfp4::bindings {

// Bytes from the begin of a storage to the end of the last entry, and bytes that it has.
struct Reach {
  std::int64_t needed, held;
  bool fits() const { return needed <= held; }
};

class Storages {
 public:
  // Extents and strides, in bytes, are the tensor's; torch has no negative strides. Throws where torch shows no storage.
  template <class Numbers>
  Reach reach(pybind11::handle tensor, int axes, const Numbers& shape, const Numbers& strides, std::int64_t entry_bytes) const {
    std::int64_t last = 0;
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(axes); ++axis) {
      if (shape[axis] == 0) return {0, 0};
      last += (shape[axis] - 1) * strides[axis];
    }
    const pybind11::object storage = answer_of(PyObject_CallMethodNoArgs(tensor.ptr(), untyped_storage_.ptr()));
    const std::int64_t held = number_of(answer_of(PyObject_CallMethodNoArgs(storage.ptr(), nbytes_.ptr())));
    const std::int64_t first = number_of(answer_of(PyObject_CallMethodNoArgs(tensor.ptr(), storage_offset_.ptr())));
    return {(first + 1) * entry_bytes + last, held};
  }

 private:
  pybind11::object untyped_storage_ = interned("untyped_storage"), nbytes_ = interned("nbytes"),
                   storage_offset_ = interned("storage_offset");
};

}  // namespace ozfp4::bindings
