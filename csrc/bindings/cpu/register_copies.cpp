// Copies of arrays by several threads, for operands that travel to a device and results that come back.
#include <pybind11/numpy.h>

#include <stdexcept>
#include <string>

#include "bindings/interpreter_lock.hpp"
#include "bindings/register.hpp"
#include "cpu/runtime/copies.hpp"

namespace ozfp4::bindings {
namespace {

namespace py = pybind11;

// Range: up to three axes.
StridedEntries entries_of(const py::array& x, char* data) {
  StridedEntries entries{data, {0, 0, 0}};
  for (py::ssize_t axis = 0; axis < x.ndim(); ++axis) entries.strides[3 - x.ndim() + axis] = x.strides(axis);
  return entries;
}

void copy(py::array destination, const py::array& source) {
  const py::ssize_t item = source.itemsize();
  if (destination.ndim() != source.ndim() || source.ndim() > 3 || destination.itemsize() != item) {
    throw std::invalid_argument("destination: " + std::to_string(destination.ndim()) + " axes of entries of " +
                                std::to_string(destination.itemsize()) + " bytes, the source has " +
                                std::to_string(source.ndim()) + " of " + std::to_string(item) +
                                "; alike and at most 3 are needed");
  }
  if (item != 1 && item != 2 && item != 4 && item != 8 && item != 16) {
    throw std::invalid_argument("source: entries of " + std::to_string(item) + " bytes; allowed are 1, 2, 4, 8 and 16");
  }
  std::array<std::int64_t, 3> extents{1, 1, 1};
  for (py::ssize_t axis = 0; axis < source.ndim(); ++axis) {
    if (destination.shape(axis) != source.shape(axis)) {
      throw std::invalid_argument("destination: extent " + std::to_string(destination.shape(axis)) + " of axis " +
                                  std::to_string(axis) + " is not the source's, " + std::to_string(source.shape(axis)));
    }
    extents[3 - source.ndim() + axis] = source.shape(axis);
  }
  const StridedEntries to = entries_of(destination, static_cast<char*>(destination.mutable_data()));
  const StridedEntries from = entries_of(source, static_cast<char*>(const_cast<void*>(source.data())));
  const Unlocked unlocked;
  copy_entries(to, from, extents, static_cast<int>(item));
}

}  // namespace

void register_copies(py::module_& module) {
  module.def("copy_entries", &copy, py::arg("destination").noconvert(), py::arg("source").noconvert());
}

}  // namespace ozfp4::bindings
