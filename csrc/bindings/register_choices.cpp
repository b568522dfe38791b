// The choices of products on the CPU, for Python's explanations.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <string>

#include "bindings/cpu/repaired.hpp"
#include "bindings/product/options.hpp"
#include "bindings/register.hpp"
#include "product/cpu/rates.hpp"
#include "product/threshold.hpp"

namespace ozfp4::bindings {
namespace {

namespace py = pybind11;

// None where no product of the dtype gains.
std::optional<std::int64_t> threshold(const std::string& device, const std::string& dtype, int capability, bool is_correct) {
  const char type = dtype == "float32" ? 's' : dtype == "float64" ? 'd' : dtype == "complex64" ? 'c' : 'z';
  const std::int64_t found = device.empty() ? cpu_threshold(type) : gpu_threshold(device, capability, type);
  const std::int64_t least = is_correct ? threshold_of_correct(found) : found;
  return least == kNeverFaster ? std::nullopt : std::make_optional(least);
}

}  // namespace

void register_choices(py::module_& module) {
  module.def("repaired", [] { return repaired_here(); });
  module.def("few_repairs", &few_repairs, py::arg("entries"));
  module.def("threshold", &threshold, py::arg("device"), py::arg("dtype"), py::arg("capability"), py::arg("is_correct"));
  module.def("cpu_name", &cpu_name);
  module.def("rates_device", &product::rates_device);
  module.def("measured_file", &measured_file);
  module.def(
      "accuracy_bits",
      [](const std::string& accuracy, int precision) { return accuracy_bits(accuracy_named(accuracy), precision); },
      py::arg("accuracy"), py::arg("precision"));
}

}  // namespace ozfp4::bindings
