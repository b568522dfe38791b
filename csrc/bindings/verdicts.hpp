// Verdicts of the self-test as Python sees them.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "product/trust/verdict.hpp"

namespace ozfp4::bindings {

// The fields of ozfp4._trust.verdict.Verdict, but for the kernel; "failure" those of Failure, or None.
inline pybind11::dict as_dict(const product::Verdict& verdict) {
  namespace py = pybind11;
  const auto or_none = [](bool is_there, auto value) { return is_there ? py::object(py::cast(value)) : py::object(py::none()); };
  py::object failure = py::none();
  if (!verdict.failure.name.empty()) {
    const product::Failure& own = verdict.failure;
    py::dict fields;
    fields["case"] = own.name;
    fields["extents"] = py::make_tuple(own.m, own.n, own.k);
    fields["text"] = own.text;
    fields["plan"] = or_none(!own.plan.empty(), own.plan);
    fields["modulus"] = or_none(own.modulus != 0, own.modulus);
    fields["entry"] = or_none(own.row >= 0, std::make_pair(own.row, own.column));
    fields["found"] = own.found;
    fields["expected"] = own.expected;
    failure = fields;
  }
  py::dict found;
  found["passed"] = verdict.is_passed;
  found["form"] = verdict.is_short ? "short" : "long";
  found["cases"] = verdict.cases;
  found["seconds"] = verdict.seconds;
  found["reason"] = or_none(!verdict.is_passed, verdict.reason);
  found["failure"] = failure;
  return found;
}

inline pybind11::dict as_dict(const product::Facts& facts) {
  pybind11::dict found;
  for (const auto& [name, value] : facts) found[name.c_str()] = value;
  return found;
}

}  // namespace ozfp4::bindings
