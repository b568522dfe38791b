// The shared arithmetic, elementwise over arrays, so that the tests reach every function to the ends of its range.
#include <pybind11/numpy.h>

#include "arith/column_crt.hpp"
#include "arith/e2m1.hpp"
#include "arith/float_fields.hpp"
#include "arith/fold.hpp"
#include "arith/limbs.hpp"
#include "arith/residue.hpp"
#include "arith/round_fast.hpp"
#include "arith/round_pieces.hpp"
#include "arith/round_wide.hpp"
#include "arith/scale_entry.hpp"
#include "arith/wide_int.hpp"
#include "bindings/testing.hpp"

namespace ozfp4::bindings {
namespace {

namespace py = pybind11;

template <class T>
using Array = py::array_t<T, py::array::c_style | py::array::forcecast>;

// Rounds the integers given as little-endian 32-bit words [n][Words] times 2^exponent.
template <class T, int Words>
Array<T> round_words(const Array<std::uint32_t>& words, const Array<std::int32_t>& exponent) {
  Array<T> result(words.shape(0));
  for (py::ssize_t i = 0; i < words.shape(0); ++i) {
    WideInt<Words> x;
    for (int k = 0; k < Words; ++k) x.word[k] = words.data()[i * Words + k];
    result.mutable_data()[i] = round_scaled<T>(x, exponent.data()[i]);
  }
  return result;
}

template <class T>
Array<T> round_any(const Array<std::uint32_t>& words, const Array<std::int32_t>& exponent) {
  if (words.ndim() != 2 || exponent.ndim() != 1 || words.shape(0) != exponent.shape(0))
    throw py::value_error("shapes do not fit");
  switch (words.shape(1)) {
    case 2: return round_words<T, 2>(words, exponent);
    case 5: return round_words<T, 5>(words, exponent);
    case 8: return round_words<T, 8>(words, exponent);
    default: throw py::value_error("words: 2, 5 or 8 per integer");
  }
}

Array<double> round_five_words(const Array<std::uint32_t>& words, const Array<std::int32_t>& exponent) {
  if (words.ndim() != 2 || words.shape(1) != 5 || exponent.ndim() != 1 || words.shape(0) != exponent.shape(0))
    throw py::value_error("shapes do not fit");
  Array<double> result(words.shape(0));
  for (py::ssize_t i = 0; i < words.shape(0); ++i) {
    WideInt<5> x;
    for (int k = 0; k < 5; ++k) x.word[k] = words.data()[i * 5 + k];
    result.mutable_data()[i] = round_pieces(x, exponent.data()[i]);
  }
  return result;
}

// round_words by conversion instructions, and which results are rare.
template <class T, int Words>
py::tuple round_words_fast(const Array<std::uint32_t>& words, const Array<std::int32_t>& exponent) {
  Array<T> result(words.shape(0));
  Array<bool> rare(words.shape(0));
  for (py::ssize_t i = 0; i < words.shape(0); ++i) {
    WideInt<Words> x;
    for (int k = 0; k < Words; ++k) x.word[k] = words.data()[i * Words + k];
    bool is_rare = false;
    result.mutable_data()[i] = round_fast<T>(x, exponent.data()[i], is_rare);
    rare.mutable_data()[i] = is_rare;
  }
  return py::make_tuple(result, rare);
}

template <class T>
py::tuple round_any_fast(const Array<std::uint32_t>& words, const Array<std::int32_t>& exponent) {
  if (words.ndim() != 2 || exponent.ndim() != 1 || words.shape(0) != exponent.shape(0))
    throw py::value_error("shapes do not fit");
  switch (words.shape(1)) {
    case 2: return round_words_fast<T, 2>(words, exponent);
    case 4: return round_words_fast<T, 4>(words, exponent);
    case 6: return round_words_fast<T, 6>(words, exponent);
    default: throw py::value_error("words: 2, 4 or 6 per integer");
  }
}

// The CRT of columns [n][2 Words] with the constants of one product, all in 32-bit words: the integers times 2^shift as
// words [n][Words], and which quotients are uncertain.
template <int Words>
py::tuple crt_of_columns(const Array<std::uint32_t>& columns, std::uint32_t inverse, std::uint32_t offset,
                         const Array<std::uint32_t>& negated, const Array<std::uint32_t>& product,
                         const Array<std::uint32_t>& lowest) {
  ColumnConstants<Words> constants{0, inverse, offset, {}, {}, {}};
  for (int k = 0; k < 2 * Words; ++k) constants.negated[k] = negated.at(k);
  for (int k = 0; k < Words; ++k) {
    constants.product[k] = product.at(k);
    constants.lowest[k] = lowest.at(k);
  }
  Array<std::uint32_t> words({columns.shape(0), py::ssize_t(Words)});
  Array<bool> uncertain(columns.shape(0));
  for (py::ssize_t i = 0; i < columns.shape(0); ++i) {
    std::uint32_t column[2 * Words];
    for (int k = 0; k < 2 * Words; ++k) column[k] = columns.data()[i * 2 * Words + k];
    uncertain.mutable_data()[i] = is_uncertain(column_estimate(column, constants));
    const WideInt<Words> x = exact_column_integer(column, constants);
    for (int k = 0; k < Words; ++k) words.mutable_data()[i * Words + k] = x.word[k];
  }
  return py::make_tuple(words, uncertain);
}

py::tuple column_crt(const Array<std::uint32_t>& columns, std::uint32_t inverse, std::uint32_t offset,
                     const Array<std::uint32_t>& negated, const Array<std::uint32_t>& product,
                     const Array<std::uint32_t>& lowest) {
  if (columns.ndim() != 2 || negated.size() != columns.shape(1) || 2 * product.size() != columns.shape(1) ||
      2 * lowest.size() != columns.shape(1)) {
    throw py::value_error("shapes do not fit");
  }
  switch (columns.shape(1)) {
    case 4: return crt_of_columns<2>(columns, inverse, offset, negated, product, lowest);
    case 8: return crt_of_columns<4>(columns, inverse, offset, negated, product, lowest);
    case 12: return crt_of_columns<6>(columns, inverse, offset, negated, product, lowest);
    default: throw py::value_error("columns: 4, 8 or 12 per integer");
  }
}

std::int64_t balanced(std::int64_t x, std::int64_t m) {
  const std::int64_t r = ((x % m) + m) % m;
  return r > m / 2 ? r - m : r;
}

}  // namespace

void register_arith(py::module_& parent) {
  py::module_ module = parent.def_submodule("arith", "Elementwise access to the shared arithmetic.");
  module.def("e2m1_decode", py::vectorize([](unsigned code) { return e2m1_decode(code); }));
  module.def("e2m1_encode", py::vectorize([](int limb) { return e2m1_encode(limb); }));
  module.def("e2m1_has", py::vectorize([](int limb) { return e2m1_has(limb); }));
  module.def("e2m1_pack", py::vectorize([](int even, int odd) { return e2m1_pack(even, odd); }));
  module.def("e2m1_unpack_even", py::vectorize([](std::uint8_t byte) { return e2m1_unpack_even(byte); }));
  module.def("e2m1_unpack_odd", py::vectorize([](std::uint8_t byte) { return e2m1_unpack_odd(byte); }));
  module.def("exponent64", py::vectorize([](double x) { return exponent_of_magnitude<double>(magnitude_bits(x)); }));
  module.def("exponent32", py::vectorize([](float x) { return exponent_of_magnitude<float>(magnitude_bits(x)); }));
  module.def("scaled_integer64", py::vectorize([](double x, int shift) { return scaled_integer(x, shift); }));
  module.def("scaled_integer32", py::vectorize([](float x, int shift) { return scaled_integer(x, shift); }));
  module.def("limb13", py::vectorize([](std::int64_t v) { return take_limb13(v); }));
  module.def("quotient13", py::vectorize([](std::int64_t v) { return take_limb13(v), v; }));
  module.def("balanced_digit", py::vectorize([](std::int64_t v, int width) { return take_balanced_digit(v, width); }));
  module.def("small_residue", py::vectorize([](std::int64_t v, std::int64_t m) {
               const SmallModulus modulus{static_cast<float>(m),
                                          1.0f / static_cast<float>(m),
                                          {static_cast<float>(balanced(std::int64_t(1) << 13, m)),
                                           static_cast<float>(balanced(std::int64_t(1) << 26, m)),
                                           static_cast<float>(balanced(std::int64_t(1) << 39, m))}};
               return static_cast<std::int64_t>(residue_of(split_integer(v), modulus));
             }));
  module.def("large_residue", py::vectorize([](std::int64_t v, std::int64_t m) {
               const LargeModulus modulus{static_cast<double>(m), 1.0 / static_cast<double>(m),
                                          static_cast<double>(balanced(std::int64_t(1) << 27, m))};
               return static_cast<std::int64_t>(balanced_residue_of(v, modulus));
             }));
  module.def("reduce32", py::vectorize([](float x, float m) { return reduce(x, m, 1.0f / m); }));
  module.def("reduce64", py::vectorize([](double x, double m) { return reduce(x, m, 1.0 / m); }));
  module.def("fold_unsigned", py::vectorize([](std::uint32_t x, std::uint32_t m) { return fold_unsigned(x, make_fold(m)); }));
  module.def("fold_signed", py::vectorize([](std::int32_t x, std::uint32_t m, std::uint32_t bound) {
               return fold_signed(x, make_fold(m, bound));
             }));
  module.def("round64", &round_any<double>, py::arg("words"), py::arg("exponent"));
  module.def("round32", &round_any<float>, py::arg("words"), py::arg("exponent"));
  module.def("round_pieces", &round_five_words, py::arg("words"), py::arg("exponent"));
  module.def("round_fast64", &round_any_fast<double>, py::arg("words"), py::arg("exponent"));
  module.def("round_fast32", &round_any_fast<float>, py::arg("words"), py::arg("exponent"));
  module.def("column_crt", &column_crt, py::arg("columns"), py::arg("inverse"), py::arg("offset"), py::arg("negated"),
             py::arg("product"), py::arg("lowest"));
}

}  // namespace ozfp4::bindings
