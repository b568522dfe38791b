// NumPy arrays as the core's strided views.
#pragma once

#include <pybind11/numpy.h>

#include "cpu/runtime/matrix_view.hpp"

namespace ozfp4::bindings {

namespace py = pybind11;

inline ElementType element_type(const py::array& array) {
  // Equality rather than identity: an unpickled dtype is equal but not the same object.
  if (array.dtype().equal(py::dtype::of<double>())) return ElementType::float64;
  if (array.dtype().equal(py::dtype::of<float>())) return ElementType::float32;
  if (array.dtype().equal(py::dtype::of<std::int8_t>())) return ElementType::int8;
  throw py::type_error("dtype " + std::string(py::str(array.dtype())) + " is not float64, float32 or int8");
}

// The element type of NumPy's integers; bool counts as uint8.
inline ElementType integer_type(const py::array& array) {
  const char kind = array.dtype().kind();
  if (kind == 'i' || kind == 'u' || kind == 'b') {
    const bool has_sign = kind == 'i';
    switch (array.itemsize()) {
      case 1: return has_sign ? ElementType::int8 : ElementType::uint8;
      case 2: return has_sign ? ElementType::int16 : ElementType::uint16;
      case 4: return has_sign ? ElementType::int32 : ElementType::uint32;
      case 8: return has_sign ? ElementType::int64 : ElementType::uint64;
      default: break;
    }
  }
  throw py::type_error("dtype " + std::string(py::str(array.dtype())) + " is not one of integers");
}

inline void require_dimensions(const py::array& array, py::ssize_t dimensions) {
  if (array.ndim() != dimensions) {
    throw py::value_error("expected " + std::to_string(dimensions) + " dimensions, got " + std::to_string(array.ndim()));
  }
}

// The last two axes as (outer, inner); transposed: outer is the last axis, as for B.
inline OperandView operand_view(const py::array& array, ElementType type, bool transposed, const char* data) {
  const py::ssize_t rows = array.ndim() - 2, columns = array.ndim() - 1;
  const py::ssize_t outer = transposed ? columns : rows, inner = transposed ? rows : columns;
  return {data, type, array.shape(outer), array.shape(inner), array.strides(outer), array.strides(inner)};
}

inline OperandView operand_view(const py::array& array, bool transposed) {
  require_dimensions(array, 2);
  return operand_view(array, element_type(array), transposed, static_cast<const char*>(array.data()));
}

}  // namespace ozfp4::bindings
