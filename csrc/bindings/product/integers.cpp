// Products of NumPy arrays of integers by csrc/product.
#include "product/integers.hpp"

#include <pybind11/numpy.h>

#include <cstdint>
#include <optional>

#include "bindings/interpreter_lock.hpp"
#include "bindings/product/arrays.hpp"
#include "bindings/product/options.hpp"
#include "bindings/product/run.hpp"
#include "bindings/product/shapes.hpp"
#include "bindings/register.hpp"
#include "bindings/tensors/python.hpp"
#include "product/cpu/product.hpp"

namespace ozfp4::bindings {
namespace {

using namespace product;

// alpha a b + beta addend, modulo 2^w of the dtype of `out`; of bool whether it is not 0; or where `modulus` is not 0, a b modulo
// that. `bits`: of a plan for the entries. Counts what wraps where `counts`. Where `gram`, the columns of a block at least, C = X
// X^T, of X and its transpose in either order. Returns what happened.
py::dict multiply_integers(const py::array& a, const py::array& b, const py::array& out, const py::tuple& asked, int bits,
                           const py::int_& alpha, const py::int_& beta, const py::object& addend, std::int64_t modulus,
                           bool counts, bool is_reported, std::optional<std::int64_t> gram) {
  const Options options = options_of(asked);
  IntegerSum sum = integers_of(Arrays{a, b, out, array_or_none(addend)});
  sum.alpha = wrapped(alpha);
  sum.beta = wrapped(beta);
  sum.modulus = modulus;
  sum.entry_bits = bits;
  const IntegersRan ran = warning_of_failures([&] {
    const Unlocked unlocked;
    return gram ? multiply_gram(sum, options, counts, *gram) : product::multiply_integers(sum, options, counts);
  });
  const bool is_exact = counts || options.raises || modulus != 0;
  return is_reported ? outcome_dict(ran, options, sum.bits(), sum.product.k, is_exact) : py::dict();
}

}  // namespace

void register_integers(py::module_& module) {
  module.def("multiply_integers", &multiply_integers, py::arg("a"), py::arg("b"), py::arg("out").noconvert(), py::arg("asked"),
             py::arg("bits"), py::arg("alpha") = 1, py::arg("beta") = 0, py::arg("addend") = py::none(), py::arg("modulus") = 0,
             py::arg("counts") = false, py::arg("is_reported") = false, py::arg("gram") = py::none());
}

}  // namespace ozfp4::bindings
