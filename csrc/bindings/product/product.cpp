// Products of NumPy arrays of floating-point numbers by csrc/product.
#include "product/cpu/product.hpp"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/cpu/failures.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/product/arrays.hpp"
#include "bindings/product/options.hpp"
#include "bindings/product/outcome.hpp"
#include "bindings/product/run.hpp"
#include "bindings/register.hpp"
#include "product/choose.hpp"
#include "product/cpu/prepared.hpp"
#include "product/cpu/rates.hpp"
#include "product/cpu/units.hpp"

namespace ozfp4::bindings {
namespace {

namespace py = pybind11;
using namespace product;

py::dict outcome_of(const Product& p, const Ran& ran, const Options& options) {
  const bool is_paired = p.type_a.is_complex && p.type_b.is_complex;
  return outcome_dict(ran, options, p.type.precision(), std::max<std::int64_t>(is_paired ? 2 * p.k : p.k, 1));
}

// Runs the product into `out`, and returns what happened.
py::dict multiply_arrays(const py::array& a, const py::array& b, const py::array& out, const py::tuple& asked,
                         std::complex<double> alpha, std::complex<double> beta, const py::object& addend, const py::object& upper,
                         const py::object& bound, const PreparedMatrix* prepared_a, const PreparedMatrix* prepared_b,
                         bool is_reported) {
  const Options options = options_of(asked);
  const Arrays arrays{a, b, out, array_or_none(addend), array_or_none(upper), array_or_none(bound), prepared_a, prepared_b};
  const std::optional<StackExtents> stack = broadcast(a, b);
  if (!stack) throw py::value_error("a, b: their stacks do not broadcast");
  Product p = product_of(arrays, type_of("a", a), type_of("b", b), type_of("out", out), *stack);
  if (arrays.addend) p.addend_part = type_of("c", *arrays.addend).part;
  p.alpha = alpha;
  p.beta = beta;
  const Ran ran = run([&](Ran& made) { multiply(p, options, made); });
  return is_reported ? outcome_of(p, ran, options) : py::dict();
}

// C = X X^H: `a` is X and `b` its transpose, or where not `is_left` the other way round, and the transpose is conjugated.
py::dict multiply_gram(const py::array& a, const py::array& b, const py::array& out, const py::tuple& asked, bool is_left,
                       std::int64_t least_columns, const py::object& bound, bool is_reported) {
  const Options options = options_of(asked);
  check_stacks(a, b, out);
  const EntryType type = type_of("a", a);
  Product p = product_of(Arrays{a, b, out, {}, {}, array_or_none(bound)}, type, type, type_of("out", out), *broadcast(a, b));
  (is_left ? p.b : p.a).is_conjugated = type.is_complex;
  const Ran ran = run([&](Ran& made) { product::multiply_gram(p, options, made, least_columns); });
  return is_reported ? outcome_of(p, ran, options) : py::dict();
}

// A prepared operand: X as it is multiplied, the right one from its columns. `is_for_real`: complex, and multiplied with real
// ones; `precision`: of the results.
std::unique_ptr<PreparedMatrix> prepare_array(const py::array& x, bool is_right, bool is_for_real, int precision,
                                              const py::tuple& asked) {
  const Options options = options_of(asked);
  if (x.ndim() < 2) throw py::value_error("x: a matrix or a stack of matrices is needed");
  const py::ssize_t rank = stack_rank(x);
  const EntryType type = type_of("x", x);
  ToPrepare own{
      type,
      !is_right,
      true,
      {static_cast<const char*>(x.data()), x.shape(rank), x.shape(rank + 1), x.strides(rank), x.strides(rank + 1), false},
      0,
      0,
      precision};
  own.is_for_real = type.is_complex && is_for_real;
  const std::int64_t lines = is_right ? own.x.columns : own.x.rows, inner = is_right ? own.x.rows : own.x.columns;
  const bool is_paired = type.is_complex && !is_for_real;
  own.outer = is_right && type.is_complex ? 2 * lines : lines;
  own.inner = is_paired ? 2 * inner : inner;
  for (py::ssize_t axis = 0; axis < rank; ++axis) own.axes.emplace_back(x.shape(axis), x.strides(axis));
  return with_failures_told([&] {
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
  const auto plan = with_failures_told([&] {
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

}  // namespace

void register_product(py::module_& module) {
  py::class_<PreparedMatrix>(module, "Prepared")
      .def_readonly("nbytes", &PreparedMatrix::bytes)
      .def_property_readonly(
          "plan", [](const PreparedMatrix& made) { return plan_tuple(*made.plan, std::max<std::int64_t>(made.view.inner, 1)); });
  module.def("prepare", &prepare_array, py::arg("x"), py::arg("is_right"), py::arg("is_for_real"), py::arg("precision"),
             py::arg("asked"));
  module.def("force_way", &force_way, py::arg("way"));
  module.def("multiply_arrays", &multiply_arrays, py::arg("a"), py::arg("b"), py::arg("out"), py::arg("asked"),
             py::arg("alpha") = 1.0, py::arg("beta") = 0.0, py::arg("addend") = py::none(), py::arg("upper") = py::none(),
             py::arg("bound") = py::none(), py::arg("prepared_a") = py::none(), py::arg("prepared_b") = py::none(),
             py::arg("is_reported") = false);
  module.def("multiply_gram", &multiply_gram, py::arg("a"), py::arg("b"), py::arg("out"), py::arg("asked"), py::arg("is_left"),
             py::arg("least_columns"), py::arg("bound") = py::none(), py::arg("is_reported") = false);
  module.def("choose", &choose, py::arg("asked"), py::arg("m"), py::arg("n"), py::arg("k"), py::arg("precision"),
             py::arg("is_paired"), py::arg("has_bound"));
  module.def("cheapest", &cheapest_unit, py::arg("asked"), py::arg("precision"), py::arg("k"));
}

}  // namespace ozfp4::bindings
