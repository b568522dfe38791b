// Whether torch surely does without seeing the products of some tensors as operators. It is looked at before every product of
// tensors, where what Python has to look up takes longer than all answers.
#pragma once

#include <pybind11/pybind11.h>

#include <utility>

#include "bindings/tensors/python.hpp"

namespace ozfp4::bindings {

class Unwatched {
 public:
  // `types` of tensors that are plain by their class. Then functions of torch by the names of src/ozfp4/_core.pyi: whether
  // gradients are recorded, how many dispatch modes there are, and whether one of these wants to see products. Then the
  // interpreters of torch.func (None: there are none), and what torch.jit.trace records into (None: it does not). Last a module
  // and its attribute that is below 0 where there are no tangents. Throws for one that is missing.
  Unwatched(pybind11::tuple types, const pybind11::dict& functions)
      : types_(std::move(types)),
        records_gradients_(functions["records_gradients"]),
        count_modes_(functions["count_modes"]),
        has_watching_mode_(functions["has_watching_mode"]),
        find_interpreters_(functions["find_interpreters"]),
        find_record_(functions["find_record"]),
        forward_mode_(functions["forward_mode"]),
        level_name_(functions["level_name"]) {}

  // Whether each operand is None or is_plain, and nothing_watches.
  bool are(const pybind11::tuple& operands) const {
    for (const pybind11::handle x : operands) {
      if (!x.is_none() && !is_plain(x)) return false;
    }
    return nothing_watches();
  }

  // Whether each operand is None, a number, or is_plain on a CPU or a GPU, and nothing_watches.
  bool are_here(const pybind11::tuple& operands) const {
    for (const pybind11::handle x : operands) {
      const bool is_tensor =
          !(x.is_none() || PyFloat_CheckExact(x.ptr()) || PyLong_CheckExact(x.ptr()) || PyComplex_CheckExact(x.ptr()));
      if (is_tensor && !(is_plain(x) && (is_set(x, is_cuda_) || is_set(x, is_cpu_)))) return false;
    }
    return nothing_watches();
  }

  // Whether x is of the types, and does not require grad where gradients are recorded.
  bool is_plain(pybind11::handle x) const {
    return is_one_of(x, types_) && !(is_set(x, requires_grad_) && called(records_gradients_).is(pybind11::handle(Py_True)));
  }

  // Whether torch neither maps nor watches nor records what tensors do, nor has tangents.
  bool nothing_watches() const {
    const bool has_no_mode = number_of(called(count_modes_)) == 0 || called(has_watching_mode_).is(pybind11::handle(Py_False));
    return has_no_mode && called(find_interpreters_).is_none() && called(find_record_).is_none() &&
           number_of(answer_of(PyObject_GetAttr(forward_mode_.ptr(), level_name_.ptr()))) < 0;
  }

 private:
  static pybind11::object called(const pybind11::object& function) { return answer_of(PyObject_CallNoArgs(function.ptr())); }

  pybind11::tuple types_;
  pybind11::object records_gradients_, count_modes_, has_watching_mode_, find_interpreters_, find_record_, forward_mode_,
      level_name_;
  pybind11::object requires_grad_ = interned("requires_grad");
  pybind11::object is_cuda_ = interned("is_cuda"), is_cpu_ = interned("is_cpu");
};

}  // namespace ozfp4::bindings
