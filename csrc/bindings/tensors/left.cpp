// Replaces a function of torch while a scope of ozfp4.emulate() is entered: a product that the scope leaves goes on to torch, and
// is counted. In C++, as torch makes a small product in a microsecond: a look in Python would take as long.
#include <pybind11/pybind11.h>
#include <structmember.h>

#include <utility>

#include "bindings/register.hpp"
#include "bindings/tensors/python.hpp"

namespace ozfp4::bindings {
namespace {

namespace py = pybind11;

// How often something was done. Nothing of Python runs between two of its numbers, so that threads need no lock.
struct Calls {
  PyObject_HEAD long long value;
};

PyObject* add_call(PyObject* self, PyObject* /*unused*/) {
  ++reinterpret_cast<Calls*>(self)->value;
  Py_RETURN_NONE;
}

PyTypeObject* calls_type = nullptr;

// A function of torch that is a product: itself, the context variable of scopes, and the types of tensors that are looked at.
// Then the names of its operands, of which those at `place` and behind it are multiplied, and what decides from its other
// arguments what is multiplied (None: nothing). Last the name by which keys differ.
struct Left {
  PyObject_HEAD PyObject *original, *scopes, *types, *operands, *form, *name;
  Py_ssize_t place;
};

struct Arguments {
  py::object given, named;  // a tuple; a dictionary, or null where there are none
};

// Operands that are passed by their names in their places; as they are where one is missing.
Arguments placed(const Left& own, PyObject* given, PyObject* named) {
  const auto as_they_are = [&] {
    return Arguments{py::reinterpret_borrow<py::object>(given), py::reinterpret_borrow<py::object>(named)};
  };
  if (named == nullptr || PyDict_GET_SIZE(named) == 0) return {py::reinterpret_borrow<py::object>(given), {}};
  const Py_ssize_t count = PyTuple_GET_SIZE(given), all = PyTuple_GET_SIZE(own.operands);
  if (count >= all) return as_they_are();
  py::tuple whole(all);
  for (Py_ssize_t i = 0; i < all; ++i) {
    PyObject* const operand =
        i < count ? PyTuple_GET_ITEM(given, i) : PyDict_GetItemWithError(named, PyTuple_GET_ITEM(own.operands, i));
    if (operand == nullptr) {
      if (PyErr_Occurred() != nullptr) throw py::error_already_set();
      return as_they_are();
    }
    whole[static_cast<std::size_t>(i)] = py::reinterpret_borrow<py::object>(operand);
  }
  py::object rest = answer_of(PyDict_Copy(named));
  for (Py_ssize_t i = count; i < all; ++i) {
    if (PyDict_DelItem(rest.ptr(), PyTuple_GET_ITEM(own.operands, i)) != 0) throw py::error_already_set();
  }
  if (PyDict_GET_SIZE(rest.ptr()) == 0) rest = {};
  return {std::move(whole), std::move(rest)};
}

// The part of a key without operands and options.
py::object further_of(const Left& own, const Arguments& arguments) {
  if (own.form == Py_None) return py::none();
  PyObject* const named = arguments.named ? arguments.named.ptr() : Py_None;
  if (!PyUnicode_CheckExact(own.form)) {
    return answer_of(PyObject_CallFunctionObjArgs(own.form, arguments.given.ptr(), named, nullptr));
  }
  PyObject* next = nullptr;
  if (PyTuple_GET_SIZE(arguments.given.ptr()) > own.place + 2) {
    next = PyTuple_GET_ITEM(arguments.given.ptr(), own.place + 2);
  } else if (named != Py_None) {
    next = PyDict_GetItemWithError(named, own.form);
    if (next == nullptr && PyErr_Occurred() != nullptr) throw py::error_already_set();
  }
  return py::bool_(next != nullptr && next != Py_None);
}

// The key of decisions about a product, without strides and entries. None where torch alone can read these arguments.
py::object key_of(const Left& own, const Arguments& arguments) {
  static const auto& shape = *new py::object(interned("shape"));  // they outlive the interpreter
  static const auto& dtype = *new py::object(interned("dtype"));
  static const auto& get_device = *new py::object(interned("get_device"));
  if (PyTuple_GET_SIZE(arguments.given.ptr()) < own.place + 2) return py::none();
  const py::handle a = PyTuple_GET_ITEM(arguments.given.ptr(), own.place);
  const py::handle b = PyTuple_GET_ITEM(arguments.given.ptr(), own.place + 1);
  const auto types = py::reinterpret_borrow<py::tuple>(own.types);
  if (!is_one_of(a, types) || !is_one_of(b, types)) return py::none();
  try {
    const py::object of_a = answer_of(PyObject_GetAttr(a.ptr(), shape.ptr())),
                     of_b = answer_of(PyObject_GetAttr(b.ptr(), shape.ptr()));
    const py::object kind = answer_of(PyObject_GetAttr(a.ptr(), dtype.ptr()));
    const py::object device = answer_of(PyObject_CallMethodNoArgs(a.ptr(), get_device.ptr()));
    const py::object further = further_of(own, arguments);
    py::object key = answer_of(PyTuple_Pack(6, own.name, of_a.ptr(), of_b.ptr(), kind.ptr(), device.ptr(), further.ptr()));
    if (PyObject_Hash(key.ptr()) == -1) throw py::error_already_set();
    return key;
  } catch (py::error_already_set& error) {  // nested tensors have no shape; other arguments are not what they should be
    for (PyObject* kind : {PyExc_IndexError, PyExc_AttributeError, PyExc_RuntimeError, PyExc_TypeError}) {
      if (error.matches(kind)) return py::none();
    }
    throw;
  }
}

py::object pass_on(const Left& own, const Arguments& arguments) {
  return answer_of(PyObject_Call(own.original, arguments.given.ptr(), arguments.named.ptr()));
}

// Throws TypeError where nothing is held: before __init__, or when the collector has cleared it.
const Left& known(PyObject* self) {
  const Left& own = *reinterpret_cast<Left*>(self);
  if (own.original == nullptr) throw py::type_error("Left: __init__ was not called");
  return own;
}

py::object answer(PyObject* self, PyObject* given, PyObject* named) {
  static const auto& left_by_name = *new py::object(interned("left_by_name"));
  static const auto& otherwise = *new py::object(interned("_otherwise"));
  const Left& own = known(self);
  PyObject* found = nullptr;
  if (PyContextVar_Get(own.scopes, Py_None, &found) != 0) throw py::error_already_set();
  const auto scope = py::reinterpret_steal<py::object>(found);
  if (scope.is_none()) return answer_of(PyObject_Call(own.original, given, named));
  const Arguments arguments = placed(own, given, named);
  const py::object key = key_of(own, arguments);
  if (key.is_none()) return pass_on(own, arguments);
  const py::object left = answer_of(PyObject_GetAttr(scope.ptr(), left_by_name.ptr()));
  if (!left.is_none()) {
    PyObject* const line = PyDict_GetItemWithError(left.ptr(), key.ptr());
    if (line != nullptr) {
      if (Py_IS_TYPE(line, calls_type)) ++reinterpret_cast<Calls*>(line)->value;
      return pass_on(own, arguments);
    }
    if (PyErr_Occurred() != nullptr) throw py::error_already_set();
  }
  const py::object rest = arguments.named ? arguments.named : py::dict();
  return answer_of(PyObject_CallMethodObjArgs(self, otherwise.ptr(), arguments.given.ptr(), rest.ptr(), key.ptr(), nullptr));
}

PyObject* call_left(PyObject* self, PyObject* given, PyObject* named) {
  return returned([&] { return answer(self, given, named); });
}

// Bound where the original would be: a method of tensors and a function of Python, but no builtin function.
PyObject* bind_left(PyObject* self, PyObject* tensor, PyObject* /*kind*/) {
  const PyObject* original = reinterpret_cast<Left*>(self)->original;
  const bool binds = original != nullptr && Py_TYPE(original)->tp_descr_get != nullptr;
  if (tensor == nullptr || tensor == Py_None || !binds) return Py_NewRef(self);
  return PyMethod_New(self, tensor);
}

int visit_left(PyObject* self, visitproc visit, void* arg) {
  Left& own = *reinterpret_cast<Left*>(self);
  for (PyObject* held : {own.original, own.scopes, own.types, own.operands, own.form, own.name}) Py_VISIT(held);
  Py_VISIT(Py_TYPE(self));
  return 0;
}

int clear_left(PyObject* self) {
  Left& own = *reinterpret_cast<Left*>(self);
  for (PyObject** held : {&own.original, &own.scopes, &own.types, &own.operands, &own.form, &own.name}) Py_CLEAR(*held);
  return 0;
}

void end_left(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clear_left(self);
  type->tp_free(self);
  Py_DECREF(type);
}

int init_left(PyObject* self, PyObject* given, PyObject* /*named*/) {
  PyObject *original = nullptr, *scopes = nullptr, *types = nullptr, *operands = nullptr, *form = nullptr, *name = nullptr;
  Py_ssize_t place = 0;
  if (PyArg_ParseTuple(given, "OOO!O!OOn", &original, &scopes, &PyTuple_Type, &types, &PyTuple_Type, &operands, &form, &name,
                       &place) == 0) {
    return -1;
  }
  if (!PyContextVar_CheckExact(scopes) || place < 0) {
    PyErr_SetString(PyExc_TypeError, "scopes: a context variable is needed; place: a number from 0 on");
    return -1;
  }
  clear_left(self);
  Left& own = *reinterpret_cast<Left*>(self);
  own.original = Py_NewRef(original), own.scopes = Py_NewRef(scopes), own.types = Py_NewRef(types);
  own.operands = Py_NewRef(operands), own.form = Py_NewRef(form), own.name = Py_NewRef(name);
  own.place = place;
  return 0;
}

PyTypeObject* made(py::module_& module, PyType_Spec spec) {
  py::object type = answer_of(PyType_FromSpec(&spec));
  module.attr(spec.name + sizeof("ozfp4._core.") - 1) = type;
  return reinterpret_cast<PyTypeObject*>(type.ptr());  // the module holds it
}

template <class Function>
void* slot(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

void register_left(py::module_& module) {
  static PyMemberDef members[] = {{"value", T_LONGLONG, offsetof(Calls, value), READONLY, nullptr}, {}};
  static PyMethodDef of_calls[] = {{"add", &add_call, METH_NOARGS, nullptr}, {}};
  static PyType_Slot calls[] = {{Py_tp_members, members}, {Py_tp_methods, of_calls}, {}};
  calls_type = made(module, {"ozfp4._core.Calls", sizeof(Calls), 0, Py_TPFLAGS_DEFAULT, calls});
  static PyType_Slot left[] = {{Py_tp_new, slot(PyType_GenericNew)}, {Py_tp_init, slot(init_left)},
                               {Py_tp_call, slot(call_left)},        {Py_tp_descr_get, slot(bind_left)},
                               {Py_tp_traverse, slot(visit_left)},   {Py_tp_clear, slot(clear_left)},
                               {Py_tp_dealloc, slot(end_left)},      {}};
  made(module, {"ozfp4._core.Left", sizeof(Left), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, left});
}

}  // namespace ozfp4::bindings
