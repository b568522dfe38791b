// Products of NumPy arrays of integers by csrc/product.
#include "product/integers.hpp"

#include <pybind11/numpy.h>

#include <cstdint>
#include <optional>

#include "bindings/cpu/failures.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/product/arrays.hpp"
#include "bindings/product/options.hpp"
#include "bindings/product/outcome.hpp"
#include "bindings/register.hpp"
#include "bindings/tensors/python.hpp"
#include "bindings/views.hpp"
#include "product/cpu/product.hpp"

namespace ozfp4::bindings {
namespace {

using namespace product;

// `data`: of an array that is only read.
ResultView result_view(const py::array& x, const void* data) {
  const py::ssize_t rows = x.ndim() - 2, columns = x.ndim() - 1;
  return {static_cast<char*>(const_cast<void*>(data)),
          integer_type(x),
          x.shape(rows),
          x.shape(columns),
          x.strides(rows),
          x.strides(columns)};
}

IntegerSum sum_of(const py::array& a, const py::array& b, py::array& out, const std::optional<py::array>& addend) {
  check_stacks(a, b, out);
  const bool is_truth = out.dtype().kind() == 'b';
  IntegerSum sum{
      {operand_view(a, integer_type(a), false, static_cast<const char*>(a.data())),
       operand_view(b, integer_type(b), true, static_cast<const char*>(b.data())), result_view(out, out.mutable_data())},
      1,
      0,
      0};
  sum.is_truth = is_truth;
  if (addend) {
    check_stacks(a, b, *addend);
    sum.addend = result_view(*addend, addend->data());
  }
  for (py::ssize_t axis = 0; axis < out.ndim() - 2; ++axis) {
    sum.axes.push_back(
        {out.shape(axis), a.strides(axis), b.strides(axis), out.strides(axis), addend ? addend->strides(axis) : 0});
  }
  return sum;
}

// alpha a b + beta addend, modulo 2^w of the dtype of `out`; of bool whether it is not 0; or where `modulus` is not 0, a b modulo
// that. `bits`: of a plan for the entries. Counts what wraps where `counts`. Returns what happened.
py::dict multiply_integers(const py::array& a, const py::array& b, py::array out, const py::tuple& asked, int bits,
                           const py::int_& alpha, const py::int_& beta, const py::object& addend, std::int64_t modulus,
                           bool counts, bool is_reported) {
  const Options options = options_of(asked);
  IntegerSum sum = sum_of(a, b, out, array_or_none(addend));
  if (modulus < 0 || (modulus > 0 && entry_bytes(sum.product.c.type) != 8)) {
    throw py::value_error("modulus: a number from 1 to 2^63 - 1 and a result of 64 bits are needed");
  }
  sum.alpha = wrapped(alpha);
  sum.beta = wrapped(beta);
  sum.modulus = modulus;
  sum.entry_bits = bits;
  const IntegersRan ran = with_failures_told([&] {
    const Unlocked unlocked;
    return product::multiply_integers(sum, options, counts);
  });
  const bool is_exact = counts || options.raises || modulus != 0;
  return is_reported ? outcome_dict(ran, options, sum.bits(), sum.product.a.inner, is_exact) : py::dict();
}

// C = X X^T, of X and its transpose in either order.
py::dict multiply_integer_gram(const py::array& a, const py::array& b, py::array out, const py::tuple& asked, int bits,
                               std::int64_t least_columns, bool counts, bool is_reported) {
  const Options options = options_of(asked);
  IntegerSum gram = sum_of(a, b, out, std::nullopt);
  gram.entry_bits = bits;
  const IntegersRan ran = with_failures_told([&] {
    const Unlocked unlocked;
    return product::multiply_gram(gram, options, counts, least_columns);
  });
  return is_reported ? outcome_dict(ran, options, bits, gram.product.a.inner, counts || options.raises) : py::dict();
}

}  // namespace

void register_integers(py::module_& module) {
  module.def("multiply_integers", &multiply_integers, py::arg("a"), py::arg("b"), py::arg("out").noconvert(), py::arg("asked"),
             py::arg("bits"), py::arg("alpha") = 1, py::arg("beta") = 0, py::arg("addend") = py::none(), py::arg("modulus") = 0,
             py::arg("counts") = false, py::arg("is_reported") = false);
  module.def("multiply_integer_gram", &multiply_integer_gram, py::arg("a"), py::arg("b"), py::arg("out").noconvert(),
             py::arg("asked"), py::arg("bits"), py::arg("least_columns"), py::arg("counts") = false,
             py::arg("is_reported") = false);
}

}  // namespace ozfp4::bindings
