#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <string>
#include <utility>

#include "bindings/cpu/stacks.hpp"
#include "bindings/register.hpp"
#include "cpu/direct/matmul.hpp"
#include "cpu/integers/matmul.hpp"

namespace ozfp4::bindings {
namespace {

// What both kinds of products say of themselves.
template <class Outcome>
py::dict describe_common(const Outcome& total) {
  py::dict outcome;
  outcome["workspace"] = total.workspace;
  outcome["exponents"] =
      total.exponents.empty() ? std::make_pair(0, 0) : std::make_pair(total.exponents.least, total.exponents.largest);
  outcome["scale"] = total.times.scale;
  outcome["encode"] = total.times.encode;
  outcome["multiply"] = total.times.multiply;
  outcome["reconstruct"] = total.times.reconstruct;
  return outcome;
}

using Progress = std::function<void(double)>;

IntegerTarget integer_target(py::array& out, std::uint64_t modulus) {
  IntegerTarget target{first_matrix(out, integer_type(out)), modulus};
  if (modulus != 0 && (modulus < 2 || modulus >= std::uint64_t(1) << 63 || entry_bytes(target.result.type) != 8)) {
    throw py::value_error("modulus: a number from 2 to 2^63 - 1 and a result of 64 bits are needed");
  }
  return target;
}

// Calls multiply(a, b, target, report) for each matrix, without the lock of the interpreter, and adds up what it returns.
template <class Outcome, class Multiply>
Outcome for_matrices(const py::array& a, const py::array& b, py::array& out, std::uint64_t modulus, const py::object& progress,
                     const Multiply& multiply) {
  const MatrixStack stack = stack_of(a, b, out, integer_type(a), integer_type(b));
  const IntegerTarget target = integer_target(out, modulus);
  Outcome total;
  const py::gil_scoped_release unlocked;
  stack.for_each([&](py::ssize_t item, py::ssize_t count, const OperandView& own_a, const OperandView& own_b, char* own_c) {
    IntegerTarget own = target;
    own.result.data = own_c;
    const auto report = [&](double fraction) {
      const py::gil_scoped_acquire locked;
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      if (!progress.is_none()) progress((static_cast<double>(item) + fraction) / static_cast<double>(count));
    };
    total.extend(multiply(own_a, own_b, own, report));
  });
  return total;
}

// The product of integer matrices, modulo 2^w of the result's type or modulo `modulus` where that is not 0; returns what
// happened, how many entries the type does not hold among it.
py::dict integer_matmul(const Plan& plan, const py::array& a, const py::array& b, py::array out, std::int64_t workspace_limit,
                        const py::object& progress, std::uint64_t modulus) {
  check_stacks(plan, a, b, out);
  if (plan.scheme == Scheme::integer || plan.is_complex) throw py::value_error("plan: it is not for products of integers");
  const auto total = for_matrices<IntegerOutcome>(
      a, b, out, modulus, progress,
      [&](const OperandView& own_a, const OperandView& own_b, const IntegerTarget& own, const Progress& report) {
        return cpu_integer_matmul(plan, own_a, own_b, own, workspace_limit, report);
      });
  py::dict outcome = describe_common(total);
  outcome["moduli_used"] = total.moduli_used;
  outcome["products"] = total.products;
  outcome["overflows"] = total.overflows;
  return outcome;
}

// The same without a plan, in words of 32 or 64 bits; None where that is refused (cpu/direct/matmul.hpp).
py::object direct_matmul(const py::array& a, const py::array& b, py::array out, std::int64_t workspace_limit,
                         const py::object& progress, bool wants_exact, std::uint64_t modulus) {
  check_stacks(a, b, out);
  bool is_refused = false;  // by one matrix: the others are not multiplied for nothing
  const auto total = for_matrices<DirectOutcome>(
      a, b, out, modulus, progress,
      [&](const OperandView& own_a, const OperandView& own_b, const IntegerTarget& own, const Progress& report) {
        if (is_refused) return DirectOutcome();
        const DirectOutcome outcome = cpu_direct_matmul(own_a, own_b, own, wants_exact, workspace_limit, report);
        is_refused = outcome.is_refused;
        return outcome;
      });
  if (total.is_refused) return py::none();
  py::dict outcome = describe_common(total);
  outcome["word_bits"] = total.word_bits;
  outcome["may_overflow"] = total.may_overflow;
  return std::move(outcome);
}

}  // namespace

void register_integers(py::module_& module) {
  module.def("integer_matmul", &integer_matmul, py::arg("plan"), py::arg("a"), py::arg("b"), py::arg("out").noconvert(),
             py::arg("workspace_limit"), py::arg("progress"), py::arg("modulus") = 0);
  module.def("direct_matmul", &direct_matmul, py::arg("a"), py::arg("b"), py::arg("out").noconvert(), py::arg("workspace_limit"),
             py::arg("progress"), py::arg("wants_exact") = false, py::arg("modulus") = 0);
}

}  // namespace ozfp4::bindings
