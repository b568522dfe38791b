// What Python says of objects, asked by the fastest of its calls.
#pragma once

#include <pybind11/pybind11.h>

namespace ozfp4::bindings {

inline pybind11::object interned(const char* name) {
  return pybind11::reinterpret_steal<pybind11::object>(PyUnicode_InternFromString(name));
}

// Takes the reference. Throws the error of the call whose answer this is.
inline pybind11::object answer_of(PyObject* found) {
  if (found == nullptr) throw pybind11::error_already_set();
  return pybind11::reinterpret_steal<pybind11::object>(found);
}

inline bool is_set(pybind11::handle x, const pybind11::object& attribute) {
  return answer_of(PyObject_GetAttr(x.ptr(), attribute.ptr())).is(pybind11::handle(Py_True));
}

inline bool says(pybind11::handle x, const pybind11::object& method) {
  return answer_of(PyObject_CallMethodNoArgs(x.ptr(), method.ptr())).is(pybind11::handle(Py_True));
}

// Whether x is of one of the types itself, of no class derived from them.
inline bool is_one_of(pybind11::handle x, const pybind11::tuple& types) {
  for (const pybind11::handle type : types) {
    if (reinterpret_cast<PyObject*>(Py_TYPE(x.ptr())) == type.ptr()) return true;
  }
  return false;
}

}  // namespace ozfp4::bindings
