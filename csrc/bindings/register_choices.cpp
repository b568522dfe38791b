// The choices of products on the CPU, for Python's explanations.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <string>

#include "bindings/cpu/repaired.hpp"
#include "bindings/product/options.hpp"
#include "bindings/register.hpp"
#include "cpu/bytes/kernels/kernel.hpp"
#include "cpu/words/product.hpp"
#include "product/threshold.hpp"

namespace ozfp4::bindings {
namespace {

namespace py = pybind11;

// How a float64 product of real scaled integers is made whose way is the cheaper one: "words" or "limbs" where its entries let
// it, or "planes". As cpu_matmul decides, for extents of 1 and more.
std::string small_way(std::int64_t m, std::int64_t n, std::int64_t k, int bits, std::int64_t workspace_limit) {
  const Promise promise{Accuracy::scaled, 53};
  const ScaleRequest request{promise.accuracy, bits, promise.precision, false, false};
  const auto may = [&](std::int64_t rows, std::int64_t columns) {
    return may_multiply_words(rows, columns, k, request, workspace_limit);
  };
  // First of all that the extents are not too long to be asked how they are turned.
  if (is_byte_kernel_asked() || !may(m, n) || (is_turned(m, n) && !may(n, m))) return "planes";
  const WordWays ways = ways_that_pay(m, n, k, promise, bits);
  return ways.limbs != nullptr ? "limbs" : ways.words ? "words" : "planes";
}

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
  module.def("threshold_file", &threshold_file);
  module.def("small_way", &small_way, py::arg("m"), py::arg("n"), py::arg("k"), py::arg("bits"), py::arg("workspace_limit"));
  module.def(
      "accuracy_bits",
      [](const std::string& accuracy, int precision) { return accuracy_bits(accuracy_named(accuracy), precision); },
      py::arg("accuracy"), py::arg("precision"));
}

}  // namespace ozfp4::bindings
