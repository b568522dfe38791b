// A product on a GPU that was made before, and is launched again on other data.
#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <cstdint>
#include <utility>

#include "bindings/tensors/python.hpp"

namespace ozfp4::bindings {

using Addresses = std::array<std::uintptr_t, 4>;  // of A, B, C and `out`, 0 where there is none

class Repeat {
 public:
  // What is launched; what makes a tensor for the result; the device; the factors of an update, alpha and beta (None: it is
  // none); how many bytes A, B, C and `out` span from their addresses on; whether C and `out` have the same form; whether the
  // launch is all that is to be done.
  Repeat(pybind11::object launchable, pybind11::object empty, pybind11::object device, pybind11::object factors,
         const Addresses& spans, bool may_be_c, bool is_whole)
      : launchable_(std::move(launchable)),
        empty_(std::move(empty)),
        device_(std::move(device)),
        factors_(std::move(factors)),
        spans_(spans),
        may_be_c_(may_be_c),
        is_whole_(is_whole),
        reads_c_(!factors_.is_none() && factors_.cast<pybind11::tuple>()[1].cast<double>() != 0) {}

  // Whether `out` lies apart from what is read, or is C itself.
  bool may_write(const Addresses& at) const {
    if (!lies_apart(at, 0) || !lies_apart(at, 1)) return false;
    return !reads_c_ || (at[2] == at[3] && may_be_c_) || lies_apart(at, 2);
  }

  // The result of `relaunch(launchable, addresses, device, factors, addend)`; None where that is not all, or may_write is not.
  pybind11::object again(const pybind11::tuple& tensors, const Addresses& at, pybind11::handle relaunch) const {
    namespace py = pybind11;
    if (!is_whole_) return py::none();
    const auto out = py::reinterpret_borrow<py::object>(PyTuple_GET_ITEM(tensors.ptr(), 3));
    if (!out.is_none() && !may_write(at)) return py::none();
    const py::object result = out.is_none() ? answer_of(PyObject_CallNoArgs(empty_.ptr())) : out;
    const py::object to =
        out.is_none() ? answer_of(PyObject_CallMethodNoArgs(result.ptr(), data_ptr_.ptr())) : py::object(number(at[3]));
    const py::object addresses = answer_of(PyTuple_Pack(3, number(at[0]).ptr(), number(at[1]).ptr(), to.ptr()));
    const py::int_ addend = number(reads_c_ ? at[2] : 0);
    answer_of(PyObject_CallFunctionObjArgs(relaunch.ptr(), launchable_.ptr(), addresses.ptr(), device_.ptr(), factors_.ptr(),
                                           addend.ptr(), nullptr));
    return result;
  }

 private:
  static pybind11::int_ number(std::uintptr_t address) { return pybind11::int_(address); }

  bool lies_apart(const Addresses& at, std::size_t other) const {
    return at[3] + spans_[3] <= at[other] || at[other] + spans_[other] <= at[3];
  }

  pybind11::object launchable_, empty_, device_, factors_;
  Addresses spans_;
  bool may_be_c_, is_whole_, reads_c_;
  pybind11::object data_ptr_ = interned("data_ptr");
};

}  // namespace ozfp4::bindings
