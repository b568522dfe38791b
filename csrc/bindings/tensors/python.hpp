// Attributes and methods of Python's objects by its fastest calls, and functions that it reaches as fast.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>

#include "bindings/errors.hpp"
#include "product/refusal.hpp"

namespace ozfp4::bindings {

inline pybind11::object interned(const char* name) {
  return pybind11::reinterpret_steal<pybind11::object>(PyUnicode_InternFromString(name));
}

// Takes the reference. Throws the error of the call that returned this.
inline pybind11::object answer_of(PyObject* found) {
  if (found == nullptr) throw pybind11::error_already_set();
  return pybind11::reinterpret_steal<pybind11::object>(found);
}

inline std::int64_t number_of(pybind11::handle found) {
  const long long value = PyLong_AsLongLong(found.ptr());
  if (value == -1 && PyErr_Occurred() != nullptr) throw pybind11::error_already_set();
  return value;
}

// An integer modulo 2^64.
inline std::int64_t wrapped(pybind11::handle number) {
  const unsigned long long bits = PyLong_AsUnsignedLongLongMask(number.ptr());
  if (bits == static_cast<unsigned long long>(-1) && PyErr_Occurred() != nullptr) throw pybind11::error_already_set();
  return static_cast<std::int64_t>(bits);
}

inline bool is_set(pybind11::handle x, const pybind11::object& attribute) {
  return answer_of(PyObject_GetAttr(x.ptr(), attribute.ptr())).is(pybind11::handle(Py_True));
}

inline bool returns_true(pybind11::handle x, const pybind11::object& method) {
  return answer_of(PyObject_CallMethodNoArgs(x.ptr(), method.ptr())).is(pybind11::handle(Py_True));
}

// The address of a tensor's first entry.
inline void* address_of(pybind11::handle tensor) {
  static const auto& data_ptr = *new pybind11::object(interned("data_ptr"));  // it outlives the interpreter
  void* const address = PyLong_AsVoidPtr(answer_of(PyObject_CallMethodNoArgs(tensor.ptr(), data_ptr.ptr())).ptr());
  if (address == nullptr && PyErr_Occurred() != nullptr) throw pybind11::error_already_set();
  return address;
}

// The result of a C function that Python calls: the object, or null and the error that pybind11 makes of the exception.
template <class Call>
PyObject* returned(const Call& call) {
  try {
    return call().release().ptr();
  } catch (pybind11::error_already_set& error) {
    error.restore();
  } catch (const pybind11::builtin_exception& error) {
    error.set_error();
  } catch (const product::Refusal& refusal) {
    set_refusal(refusal);
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::invalid_argument& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const WorkspaceError& error) {
    set_workspace_error(error);
  } catch (const std::length_error& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

// A builtin function of `call(object, arguments, count)`, which pybind11 would take two tenths of a microsecond to reach; it owns
// the object.
template <class T, pybind11::object (*call)(const T&, PyObject* const*, Py_ssize_t)>
PyObject* fast_call(PyObject* self, PyObject* const* given, Py_ssize_t count) {
  return returned([&] { return call(*static_cast<const T*>(PyCapsule_GetPointer(self, nullptr)), given, count); });
}

template <class T, pybind11::object (*call)(const T&, PyObject* const*, Py_ssize_t)>
pybind11::object builtin_of(std::unique_ptr<T> owned, const char* name) {
  static PyMethodDef definition{name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&fast_call<T, call>)),
                                METH_FASTCALL, nullptr};
  const auto end = [](PyObject* capsule) { delete static_cast<T*>(PyCapsule_GetPointer(capsule, nullptr)); };
  const pybind11::object self = answer_of(PyCapsule_New(owned.get(), nullptr, end));
  owned.release();
  return answer_of(PyCFunction_NewEx(&definition, self.ptr(), nullptr));
}

// The same without an object: `call(arguments, count)`.
template <pybind11::object (*call)(PyObject* const*, Py_ssize_t)>
PyObject* fast_call_of_none(PyObject*, PyObject* const* given, Py_ssize_t count) {
  return returned([&] { return call(given, count); });
}

template <pybind11::object (*call)(PyObject* const*, Py_ssize_t)>
pybind11::object builtin(const char* name) {
  static PyMethodDef definition{name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&fast_call_of_none<call>)),
                                METH_FASTCALL, nullptr};
  return answer_of(PyCFunction_NewEx(&definition, nullptr, nullptr));
}

// The dictionary's value, held: another thread may take it out as soon as the interpreter's lock is released. Null where the key
// is missing; nothing where it is not hashable.
inline std::optional<pybind11::object> found_in(pybind11::handle dictionary, pybind11::handle key) {
  PyObject* const found = PyDict_GetItemWithError(dictionary.ptr(), key.ptr());
  if (found != nullptr || PyErr_Occurred() == nullptr) return pybind11::reinterpret_borrow<pybind11::object>(found);
  if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw pybind11::error_already_set();
  PyErr_Clear();
  return std::nullopt;
}

// A tuple among the arguments of a builtin function, which takes so many.
inline pybind11::tuple tuple_at(PyObject* const* given, Py_ssize_t count, Py_ssize_t place, Py_ssize_t number) {
  if (count != number || !PyTuple_Check(given[place])) {
    PyErr_SetString(PyExc_TypeError, "another number of arguments, or one is no tuple");
    throw pybind11::error_already_set();
  }
  return pybind11::reinterpret_borrow<pybind11::tuple>(given[place]);
}

// Whether x is of one of the types itself, of no class derived from them.
inline bool is_one_of(pybind11::handle x, const pybind11::tuple& types) {
  for (const pybind11::handle type : types) {
    if (reinterpret_cast<PyObject*>(Py_TYPE(x.ptr())) == type.ptr()) return true;
  }
  return false;
}

}  // namespace ozfp4::bindings
