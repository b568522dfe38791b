// A B, or alpha A B + beta C, where all is plain. Short products take less time than Python's checks.
#pragma once

#include <pybind11/complex.h>

#include <cmath>
#include <complex>
#include <optional>

#include "bindings/product/options.hpp"
#include "bindings/product/shapes.hpp"

namespace ozfp4::bindings {

// A factor that is surely a finite number of float64 parts.
inline std::optional<std::complex<double>> factor_of(PyObject* given) {
  if (PyLong_CheckExact(given)) {  // beyond these some are no float64 numbers
    int is_large = 0;
    const long long number = PyLong_AsLongLongAndOverflow(given, &is_large);
    constexpr long long most = 1LL << 53;
    return is_large == 0 && -most <= number && number <= most ? std::make_optional<std::complex<double>>(number) : std::nullopt;
  }
  if (!PyFloat_CheckExact(given) && !PyComplex_CheckExact(given)) return std::nullopt;
  const Py_complex found = PyComplex_AsCComplex(given);
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    return std::nullopt;
  }
  if (!std::isfinite(found.real) || !std::isfinite(found.imag)) return std::nullopt;
  return std::complex<double>(found.real, found.imag);
}

// The arguments of multiply_plain in src/ozfp4/_core.pyi.
struct PlainArguments {
  PyObject *a, *b, *out, *accuracy, *keywords;
  bool may_be_watched = true;  // the operands
  std::optional<std::complex<double>> alpha = 1.0, beta = 0.0;
  PyObject *c = Py_None, *trans_a = Py_False, *trans_b = Py_False;
};

inline PlainArguments plain_arguments(PyObject* const* given, Py_ssize_t count) {
  if (count != 5 && count != 6 && count != 11) throw pybind11::type_error("multiply_plain: takes 5, 6 or 11 arguments");
  PlainArguments found{given[0], given[1], given[2], given[3], given[4]};
  if (count > 5) found.may_be_watched = given[5] == Py_True;
  if (count > 6) {
    found.alpha = factor_of(given[6]);
    found.beta = factor_of(given[7]);
    found.c = given[8];
    found.trans_a = given[9];
    found.trans_b = given[10];
  }
  return found;
}

inline pybind11::object not_plain() { return pybind11::reinterpret_borrow<pybind11::object>(Py_NotImplemented); }

// A product of which there is nothing that Python has to look at.
template <class Matrices>
struct PlainProduct {
  const Matrices &a, &b;
  const std::optional<Matrices>&c, &out;
  product::EntryType type_a, type_b, type;
  StackExtents stack, shape;
  std::complex<double> alpha, beta;
  product::Options options;

  template <class PreparedOperand>
  product::Product into(const Matrices& result) const {
    const Given<Matrices, PreparedOperand> given{a, b, result, c};
    product::Product p = product_of(given, type_a, type_b, type, stack);
    if (c) p.addend_part = own_type(*c)->part;
    p.alpha = alpha;
    p.beta = beta;
    return p;
  }
};

// Whether `trans` exchanges the last two axes, and whether it conjugates, where that is one of BLAS's letters or a bool; nothing
// for other texts.
inline std::optional<std::pair<bool, bool>> turn_of(PyObject* trans) {
  if (trans == Py_False) return std::make_pair(false, false);
  if (trans == Py_True) return std::make_pair(true, false);
  const auto is = [&](const char* name) { return PyUnicode_Check(trans) && PyUnicode_CompareWithASCIIString(trans, name) == 0; };
  if (is("N")) return std::make_pair(false, false);
  return is("T") || is("C") ? std::make_optional(std::make_pair(true, is("C"))) : std::nullopt;
}

// Replaces an operand by what `trans` makes of it; false where that is unknown.
template <class Matrices>
bool turn(std::optional<Matrices>& x, PyObject* trans) {
  const std::optional<std::pair<bool, bool>> how = turn_of(trans);
  if (!how || !how->first) return how.has_value();
  if (x->ndim() < 2) return false;
  x = transposed(*x, how->second);
  return x.has_value();
}

// Returns then(found), found a PlainProduct; or NotImplemented for whatever is not plain or not right, of which Python finds out
// more. `read` finds the matrices of an operand where it is plain.
template <class Matrices, class Read, class Then>
pybind11::object with_plain(const PlainArguments& given, const Read& read, const Then& then) {
  const auto &alpha = given.alpha, &beta = given.beta;
  if (!alpha || !beta) return not_plain();
  const bool adds = *beta != 0.0;
  if (!adds && given.c != Py_None) return not_plain();  // C is not read, but its dtype and shape count
  std::optional<Matrices> a = read(given.a), b, c, out;
  if (!a || !(b = read(given.b))) return not_plain();
  if (adds && !(c = read(given.c))) return not_plain();
  if (given.out != Py_None && !(out = read(given.out))) return not_plain();
  if (!turn(a, given.trans_a) || !turn(b, given.trans_b)) return not_plain();
  const std::optional<product::EntryType> type_a = own_type(*a), type_b = own_type(*b);
  if (!type_a || !type_b || a->ndim() == 0 || b->ndim() == 0 || (a->ndim() == 1 && b->ndim() == 1)) return not_plain();
  if (!inner_fits(*a, *b)) return not_plain();
  std::optional<StackExtents> stack = broadcast(*a, *b);
  if (!stack) return not_plain();
  product::EntryType type = promoted(*type_a, *type_b);
  if ((alpha->imag() != 0 || beta->imag() != 0) && !type.is_complex) return not_plain();
  StackExtents shape = result_shape(*a, *b, *stack);
  if (c) {
    const std::optional<product::EntryType> own = own_type(*c);
    if (!own || own->is_complex != type.is_complex || is_conjugated(*c) || !has_shape(*c, shape)) return not_plain();
    type = promoted(type, *own);
  }
  if (out) {
    const std::optional<product::EntryType> own = own_type(*out);
    if (!own || !is_same(*own, type) || is_conjugated(*out) || !has_shape(*out, shape)) return not_plain();
    if (!is_writeable(*out) || may_overlap_itself(*out) || may_overlap(*out, *a) || may_overlap(*out, *b)) return not_plain();
    if (c && may_overlap(*out, *c) && !(is_same(*own_type(*c), type) && is_same_place(*out, *c))) return not_plain();
  }
  std::optional<product::Options> options = plain_options(given.accuracy, given.keywords);
  if (!options) return not_plain();
  const bool is_rounded_twice = product::has_both_parts(*alpha) || product::has_both_parts(*beta);
  if (is_rounded_twice && options->rounding != Rounding::nearest) return not_plain();
  return then(PlainProduct<Matrices>{*a, *b, c, out, *type_a, *type_b, type, *std::move(stack), std::move(shape), *alpha, *beta,
                                     *std::move(options)});
}

}  // namespace ozfp4::bindings
