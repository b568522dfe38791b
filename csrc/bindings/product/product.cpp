// Products of NumPy arrays of floating-point numbers by csrc/product, and the choices of it, for Python's explanations.
#include "product/cpu/product.hpp"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "bindings/interpreter_lock.hpp"
#include "bindings/product/arrays.hpp"
#include "bindings/product/options.hpp"
#include "bindings/product/run.hpp"
#include "bindings/register.hpp"
#include "product/choose.hpp"
#include "product/cpu/prepared.hpp"
#include "product/cpu/rates.hpp"
#include "product/cpu/units.hpp"
#include "product/threshold.hpp"

namespace ozfp4::bindings {
namespace {

namespace py = pybind11;
using namespace product;

// Runs the product into `out`, and returns what happened.
py::dict multiply_arrays(const py::array& a, const py::array& b, const py::array& out, const py::tuple& asked,
                         std::complex<double> alpha, std::complex<double> beta, const py::object& addend, const py::object& upper,
                         const py::object& bound, const PreparedMatrix* prepared_a, const PreparedMatrix* prepared_b,
                         bool is_reported, const GivenGram& gram) {
  const Options options = options_of(asked);
  const Arrays arrays{a, b, out, array_or_none(addend), array_or_none(upper), array_or_none(bound), prepared_a, prepared_b};
  const Product p = product_of(arrays, alpha, beta, gram);
  const Ran ran = run([&](Ran& made) { gram ? multiply_gram(p, options, made, gram->second) : multiply(p, options, made); });
  return is_reported ? outcome_dict(ran, options, p.type.precision(), planned_inner(p)) : py::dict();
}

std::unique_ptr<PreparedMatrix> prepare_array(const py::array& x, bool is_right, bool is_for_real, int precision,
                                              const py::tuple& asked) {
  const Options options = options_of(asked);
  const ToPrepare own = to_prepare(x, type_of("x", x), is_right, is_for_real, precision);
  return warning_of_failures([&] {
    auto made = std::make_unique<PreparedMatrix>();
    made->rows = own.x.rows;
    made->columns = own.x.columns;
    const Unlocked unlocked;
    prepare(own, options, *made);
    return made;
  });
}

// The plan that a product would take, as arguments of make_plan (None: the one that was passed), and why. `is_paired`: of two
// complex operands; `precision`: of the result.
py::tuple choose(const py::tuple& asked, std::int64_t m, std::int64_t n, std::int64_t k, int precision, bool is_paired,
                 bool has_bound) {
  const Options options = options_of(asked);
  const std::int64_t inner = is_paired ? 2 * k : k;
  check_inner(options, inner, has_bound);
  const auto plan = warning_of_failures([&] {
    auto found = plan_for(options, precision, inner, is_paired && !complex_words_pay(options, m, n, k));
    check_trusted(found->alphabet);
    return found;
  });
  const std::int64_t least = std::max<std::int64_t>(inner, 1);
  return py::make_tuple(options.plan != nullptr ? py::object(py::none()) : py::object(plan_tuple(*plan, least)),
                        reason_of(options, precision, least));
}

// The alphabet of the plan of real operands, and why it is that one, whatever its self-test finds.
py::tuple cheapest_unit(const py::tuple& asked, int precision, std::int64_t k) {
  const Cheapest found = cheapest(options_of(asked), precision, std::max<std::int64_t>(k, 1));
  return py::make_tuple(found.alphabet->name, found.reason);
}

// None where no product of the dtype gains.
std::optional<std::int64_t> threshold(const std::string& device, const std::string& dtype, int capability, bool is_correct) {
  const char type = dtype == "float32" ? 's' : dtype == "float64" ? 'd' : dtype == "complex64" ? 'c' : 'z';
  const std::int64_t found = device.empty() ? cpu_threshold(type) : gpu_threshold(device, capability, type);
  const std::int64_t least = is_correct ? threshold_of_correct(found) : found;
  return least == kNeverFaster ? std::nullopt : std::make_optional(least);
}

}  // namespace

void register_product(py::module_& module) {
  py::class_<PreparedMatrix>(module, "Prepared")
      .def_readonly("nbytes", &PreparedMatrix::bytes)
      .def_property_readonly(
          "plan", [](const PreparedMatrix& made) { return plan_tuple(*made.plan, std::max<std::int64_t>(made.view.inner, 1)); });
  module.def("prepare", &prepare_array);
  module.def("force_way", &force_way);
  module.def("multiply_arrays", &multiply_arrays, py::arg("a"), py::arg("b"), py::arg("out"), py::arg("asked"),
             py::arg("alpha") = 1.0, py::arg("beta") = 0.0, py::arg("addend") = py::none(), py::arg("upper") = py::none(),
             py::arg("bound") = py::none(), py::arg("prepared_a") = py::none(), py::arg("prepared_b") = py::none(),
             py::arg("is_reported") = false, py::arg("gram") = py::none());
  module.def("choose", &choose);
  module.def("cheapest", &cheapest_unit);
  module.def("repaired", [] { return repaired_here(); });
  module.def("few_repairs", &few_repairs);
  module.def("threshold", &threshold);
  module.def("cpu_name", &cpu_name);
  module.def("rates_device", &rates_device);
  module.def("measured_file", &measured_file);
  module.attr("models_suffix") = kModels;
  module.def("accuracy_bits",
             [](const std::string& accuracy, int precision) { return accuracy_bits(accuracy_named(accuracy), precision); });
}

}  // namespace ozfp4::bindings
