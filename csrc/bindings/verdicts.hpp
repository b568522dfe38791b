// The self-test of kernels as Python sees it. Kernels go by name and element, on a GPU behind the number of a device.
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

// The fields of ozfp4._trust.guard.Verdict behind the kernel; None where nothing is known.
inline pybind11::object fields_of(const std::optional<product::Verdict>& found) {
  namespace py = pybind11;
  if (!found) return py::none();
  const py::object reason = found->is_passed ? py::object(py::none()) : py::object(py::str(found->reason));
  return py::make_tuple(found->is_passed, found->is_short ? "short" : "long", found->cases,
                        1e-6 * static_cast<double>(found->microseconds), reason);
}

// The functions of verdicts, by those of csrc/product of a kernel's name; each Place of an argument is before it. A test takes
// as long as it does without the interpreter's lock.
template <class... Place, class Find, class Known, class Test>
void register_verdicts(pybind11::module_& module, const Find& find, const Known& known, const Test& test) {
  const auto tried = [](const auto& test_now) {
    product::Verdict found;
    {
      const Unlocked unlocked;
      found = test_now();
    }
    return fields_of(found);
  };
  using Text = const std::string&;
  module.def("verdict_of", [=](Place... place, Text name, Text element) {
    return tried([&] { return find(place..., product::KernelName{name, element}); });
  });
  module.def("known_verdict", [=](Place... place, Text name, Text element) {
    return fields_of(known(place..., product::KernelName{name, element}));
  });
  module.def("test_kernel", [=](Place... place, Text name, Text element, bool is_short) {
    return tried([&] { return test(place..., product::KernelName{name, element}, is_short); });
  });
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
