#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <utility>

#include "bindings/cpu/byte_kernel.hpp"
#include "bindings/cpu/stacks.hpp"
#include "bindings/interpreter_lock.hpp"
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
  if (modulus != 0 && (modulus >= std::uint64_t(1) << 63 || entry_bytes(target.result.type) != 8)) {
    throw py::value_error("modulus: a number from 1 to 2^63 - 1 and a result of 64 bits are needed");
  }
  return target;
}

// Calls multiply(a, b, target, report) for each matrix, without the lock of the interpreter.
template <class Multiply>
void for_matrices(const MatrixStack& stack, const IntegerTarget& target, const py::object& progress, const Multiply& multiply) {
  const Unlocked unlocked;
  stack.for_each([&](py::ssize_t item, py::ssize_t count, const OperandView& own_a, const OperandView& own_b, char* own_c) {
    IntegerTarget own = target;
    own.result.data = own_c;
    multiply(own_a, own_b, own, [&](double fraction) {
      const Locked locked;
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      if (!progress.is_none()) progress((static_cast<double>(item) + fraction) / static_cast<double>(count));
    });
  });
}

// The product of integer matrices, modulo 2^w of the result's type or modulo `modulus` where that is not 0; returns what
// happened, how many entries the type does not hold among it.
py::dict integer_matmul(const Plan& plan, const py::array& a, const py::array& b, py::array out, std::int64_t workspace_limit,
                        const py::object& progress, std::uint64_t modulus) {
  check_stacks(plan, a, b, out);
  if (plan.scheme == Scheme::integer || plan.is_complex) throw py::value_error("plan: it is not for products of integers");
  const MatrixStack stack = stack_of(a, b, out, integer_type(a), integer_type(b));
  IntegerOutcome total;
  for_matrices(stack, integer_target(out, modulus), progress,
               [&](const OperandView& own_a, const OperandView& own_b, const IntegerTarget& own, const Progress& report) {
                 total.extend(cpu_integer_matmul(plan, own_a, own_b, own, workspace_limit, report));
               });
  py::dict outcome = describe_common(total);
  outcome["moduli_used"] = total.moduli_used;
  outcome["products"] = total.products;
  outcome["unit"] = named(total.kernel);
  outcome["overflows"] = total.overflows;
  return outcome;
}

// The same without a plan, in words of 32 or 64 bits; None, and nothing written, where it does not serve
// (cpu/direct/matmul.hpp).
py::object direct_matmul(const py::array& a, const py::array& b, py::array out, std::int64_t workspace_limit,
                         const py::object& progress, bool wants_exact, std::uint64_t modulus) {
  check_stacks(a, b, out);
  const MatrixStack stack = stack_of(a, b, out, integer_type(a), integer_type(b));
  const IntegerTarget target = integer_target(out, modulus);
  DirectMatmul direct(stack.first_a, stack.first_b, target, wants_exact);
  if (direct.needs_norms()) {
    const Unlocked unlocked;
    stack.for_each(
        [&](py::ssize_t, py::ssize_t, const OperandView& own_a, const OperandView& own_b, char*) { direct.look(own_a, own_b); });
  }
  if (!direct.prepare(workspace_limit)) return py::none();
  for_matrices(stack, target, progress,
               [&](const OperandView& own_a, const OperandView& own_b, const IntegerTarget& own, const Progress& report) {
                 direct.multiply(own_a, own_b, own.result, report);
               });
  const DirectOutcome& total = direct.outcome();
  py::dict outcome = describe_common(total);
  outcome["word_bits"] = total.word_bits;
  outcome["products"] = out.size() == 0 ? 0 : total.products;
  outcome["may_overflow"] = total.may_overflow;
  return outcome;
}

}  // namespace

void register_integers(py::module_& module) {
  module.def("integer_matmul", &integer_matmul, py::arg("plan"), py::arg("a"), py::arg("b"), py::arg("out").noconvert(),
             py::arg("workspace_limit"), py::arg("progress"), py::arg("modulus") = 0);
  module.def("direct_matmul", &direct_matmul, py::arg("a"), py::arg("b"), py::arg("out").noconvert(), py::arg("workspace_limit"),
             py::arg("progress"), py::arg("wants_exact") = false, py::arg("modulus") = 0);
}

}  // namespace ozfp4::bindings
