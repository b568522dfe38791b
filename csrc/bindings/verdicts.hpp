// Verdicts of the self-test as Python sees them.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/interpreter_lock.hpp"
#include "product/trust/verdict.hpp"

namespace ozfp4::bindings {

// The fields of ozfp4._trust.guard.Verdict, but for the kernel. "failure": the first wrong case, all that repeats it, or None.
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
  found["seconds"] = 1e-6 * static_cast<double>(verdict.microseconds);
  found["reason"] = or_none(!verdict.is_passed, verdict.reason);
  found["failure"] = failure;
  return found;
}

// The same of find(), which takes as long as a test does, without the interpreter's lock.
template <class Find>
pybind11::dict found_dict(const Find& find) {
  product::Verdict found;
  {
    const Unlocked unlocked;
    found = find();
  }
  return as_dict(found);
}

inline pybind11::object as_dict(const std::optional<product::Verdict>& found) {
  return found ? pybind11::object(as_dict(*found)) : pybind11::object(pybind11::none());
}

// (name, element)
using NamedElements = std::vector<std::pair<std::string, std::string>>;
inline std::vector<product::KernelName> kernel_names(const NamedElements& kernels) {
  std::vector<product::KernelName> names;
  for (const auto& [name, element] : kernels) names.push_back({name, element});
  return names;
}

inline pybind11::dict as_dict(const product::Facts& facts) {
  pybind11::dict found;
  for (const auto& [name, value] : facts) found[name.c_str()] = value;
  return found;
}

}  // namespace ozfp4::bindings
