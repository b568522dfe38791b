#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/cpu/repaired.hpp"
#include "bindings/cpu/stacks.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/product/options.hpp"
#include "bindings/product/outcome.hpp"
#include "bindings/register.hpp"
#include "cpu/bytes/kernels/kernel.hpp"
#include "cpu/matmul.hpp"
#include "cpu/words/product.hpp"
#include "product/threshold.hpp"

namespace ozfp4::bindings {
namespace {

// The first matrix of a stack, which begins at `data`.
ResultView view_of(const py::array& stack, char* data) {
  const py::ssize_t rows = stack.ndim() - 2, columns = stack.ndim() - 1;
  return {data, element_type(stack), stack.shape(rows), stack.shape(columns), stack.strides(rows), stack.strides(columns)};
}

// Another one. Needs no lock of the interpreter.
ResultView matrix_of(const py::array& stack, ResultView first, py::ssize_t item) {
  for (py::ssize_t axis = stack.ndim() - 3; axis >= 0; --axis) {
    first.data += item % stack.shape(axis) * stack.strides(axis);
    item /= stack.shape(axis);
  }
  return first;
}

// The factors of an update, which matmul with alpha = 1 and no C is not.
std::optional<Update> update_of(double alpha, double beta, const std::optional<py::array>& c) {
  if (alpha == 1.0 && beta == 0.0 && !c) return std::nullopt;
  if (!std::isfinite(alpha) || alpha == 0.0 || !std::isfinite(beta)) throw py::value_error("alpha, beta: out of range");
  if (c.has_value() != (beta != 0.0)) throw py::value_error("c: given where beta is not 0, and else not");
  return Update::of(alpha, beta);
}

// Runs the product into `outs`, each rounded in the direction beside it, and returns what happened. `bound`, if not None, takes
// bounds of the errors of the first. `progress`, if not None, is called with the fraction done. alpha A B + beta C goes to a
// single one, which may be C; K is at least 1 then.
py::dict matmul(const Plan& plan, const py::array& a, const py::array& b, const std::vector<py::array>& outs,
                std::int64_t workspace_limit, const py::object& progress, const std::string& accuracy,
                const std::vector<std::string>& roundings, const py::object& bound, double alpha, double beta,
                std::optional<py::array> c, const std::string& way) {
  if (outs.empty() || outs.size() != roundings.size()) throw py::value_error("outs: one rounding for each is needed");
  MatmulOptions options;
  options.workspace_limit = workspace_limit;
  options.way = way_named(way);
  options.promise = {accuracy_named(accuracy), element_type(outs[0]) == ElementType::float64 ? 53 : 24};
  std::vector<py::array> stacks = outs;
  if (!bound.is_none()) stacks.push_back(bound.cast<py::array>());
  std::vector<ResultView> firsts;
  for (py::array& out : stacks) {
    check_stacks(plan, a, b, out);
    firsts.push_back(view_of(out, static_cast<char*>(out.mutable_data())));
  }
  std::vector<Rounding> directions;
  for (const std::string& name : roundings) directions.push_back(rounding_named(name));
  if (options.promise.certifies() && plan.bits < accuracy_bits(options.promise.accuracy, options.promise.precision))
    throw py::value_error("plan: its bits are too few for the accuracy");
  if (!bound.is_none() && element_type(stacks.back()) != ElementType::float64) throw py::type_error("bound: float64 is needed");

  const std::optional<Update> factors = update_of(alpha, beta, c);
  if (factors && (outs.size() != 1 || a.shape(a.ndim() - 1) == 0)) throw py::value_error("an update has one result, and K >= 1");
  ResultView first_c{nullptr, ElementType::float64, 0, 0, 0, 0};
  if (c) {
    if (!is_float(element_type(*c))) throw py::type_error("c: float64 or float32 is needed");
    check_stacks(plan, a, b, *c);
    first_c = view_of(*c, static_cast<char*>(const_cast<void*>(c->data())));  // read alone, and it may be read-only
  }
  MatmulOutcome total;
  const auto run = [&](py::ssize_t item, py::ssize_t count, const OperandView& own_a, const OperandView& own_b, char*) {
    std::vector<Target> targets;
    for (std::size_t i = 0; i < outs.size(); ++i) targets.push_back({matrix_of(stacks[i], firsts[i], item), directions[i]});
    if (stacks.size() > outs.size()) targets[0].bound = matrix_of(stacks.back(), firsts.back(), item);
    if (factors) targets[0].update = {true, *factors, c ? matrix_of(*c, first_c, item) : first_c};
    MatmulOptions own = options;
    own.progress = [&](double fraction) {
      const Locked locked;
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      if (!progress.is_none()) progress((static_cast<double>(item) + fraction) / static_cast<double>(count));
    };
    total.extend(cpu_matmul(plan, own_a, own_b, targets, own));
  };
  const MatrixStack stack = stack_of(a, b, stacks[0]);
  {
    const Unlocked unlocked;
    stack.for_each(run);
  }
  count_repaired(total);
  return outcome_dict(total);
}

// Returns the bytes of the workspace.
std::int64_t int8_matmul(const Plan& plan, const py::array& a, const py::array& b,
                         py::array_t<std::int32_t, py::array::c_style> out, std::int64_t workspace_limit) {
  check_stacks(plan, a, b, out);
  const MatrixStack stack = stack_of(a, b, out);
  const Unlocked unlocked;
  std::int64_t workspace = 0;
  stack.for_each([&](py::ssize_t, py::ssize_t, const OperandView& own_a, const OperandView& own_b, char* own_c) {
    const std::int64_t own = cpu_int8_matmul(plan, own_a, own_b, reinterpret_cast<std::int32_t*>(own_c), workspace_limit);
    workspace = std::max(workspace, own);
  });
  return workspace;
}

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

void register_matmul(py::module_& module) {
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
  module.def("matmul", &matmul, py::arg("plan"), py::arg("a"), py::arg("b"), py::arg("outs"), py::arg("workspace_limit"),
             py::arg("progress"), py::arg("accuracy") = "scaled", py::arg("roundings") = std::vector<std::string>{"nearest"},
             py::arg("bound") = py::none(), py::arg("alpha") = 1.0, py::arg("beta") = 0.0, py::arg("c") = py::none(),
             py::arg("way") = "planes");
  module.def("int8_matmul", &int8_matmul, py::arg("plan"), py::arg("a"), py::arg("b"), py::arg("out").noconvert(),
             py::arg("workspace_limit"));
}

}  // namespace ozfp4::bindings
