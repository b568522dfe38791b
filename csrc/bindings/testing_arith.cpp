// The shared arithmetic, elementwise over arrays, so that the tests reach every function to the ends of its range.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <vector>

#include "arith/float_fields.hpp"
#include "arith/fold.hpp"
#include "arith/limbs/e2m1.hpp"
#include "arith/limbs/limb_words.hpp"
#include "arith/limbs/limbs.hpp"
#include "arith/limbs/residue.hpp"
#include "arith/limbs/residue_bytes.hpp"
#include "arith/limbs/signed_bytes.hpp"
#include "arith/limbs/split_integer.hpp"
#include "arith/scale_entry.hpp"
#include "arith/wide/balanced_limbs.hpp"
#include "arith/wide/column_crt.hpp"
#include "arith/wide/limb_sums.hpp"
#include "arith/wide/round_fast.hpp"
#include "arith/wide/round_pieces.hpp"
#include "arith/wide/round_wide.hpp"
#include "arith/wide/wide_int.hpp"
#include "arith/wide/word_counts.hpp"
#include "bindings/testing.hpp"
#include "cpu/stages/columns.hpp"
#include "plan/moduli/crt_constants.hpp"

namespace ozfp4::bindings {
namespace {

namespace py = pybind11;

template <class T>
using Array = py::array_t<T, py::array::c_style | py::array::forcecast>;

// Integer number i of those given as little-endian 32-bit words [n][Words], and back.
template <int Words>
WideInt<Words> take_words(const Array<std::uint32_t>& words, py::ssize_t i) {
  WideInt<Words> x;
  for (int k = 0; k < Words; ++k) x.word[k] = words.data()[i * Words + k];
  return x;
}
template <int Words>
void put_words(Array<std::uint32_t>& words, py::ssize_t i, const WideInt<Words>& x) {
  for (int k = 0; k < Words; ++k) words.mutable_data()[i * Words + k] = x.word[k];
}

// round(integer, exponent) of all integers given as little-endian 32-bit words [n][Words].
template <class T, int Words, class Round>
Array<T> each_rounded(const Array<std::uint32_t>& words, const Array<std::int32_t>& exponent, const Round& round) {
  Array<T> result(words.shape(0));
  for (py::ssize_t i = 0; i < words.shape(0); ++i) {
    result.mutable_data()[i] = round(take_words<Words>(words, i), exponent.data()[i]);
  }
  return result;
}

template <class T, int Words>
Array<T> round_words(const Array<std::uint32_t>& words, const Array<std::int32_t>& exponent) {
  return each_rounded<T, Words>(words, exponent, round_scaled<T, Words>);
}

// The dot product of two lists of integers of three words, cut into limbs, as words.
template <int Limbs>
Array<std::uint32_t> limbed_dot(const Array<std::uint32_t>& x, const Array<std::uint32_t>& y) {
  const auto limbs = [](const WideInt<3>& v) {
    if constexpr (Limbs == 4) {
      return limbs_of(v);
    } else {
      return limbs_of<Limbs>(static_cast<std::int64_t>(std::uint64_t(v.word[1]) << 32 | v.word[0]));
    }
  };
  LimbSums<Limbs> sums;
  for (py::ssize_t i = 0; i < x.shape(0); ++i) sums.add_product(limbs(take_words<3>(x, i)), limbs(take_words<3>(y, i)));
  Array<std::uint32_t> total({py::ssize_t(1), py::ssize_t(kLimbedWords)});
  put_words(total, 0, sums.total());
  return total;
}

// The balanced limbs [n][Limbs] of round(x * scale).
template <int Limbs>
Array<std::int32_t> balanced(const Array<double>& x, double scale) {
  Array<std::int32_t> limbs({x.size(), py::ssize_t(Limbs)});
  for (py::ssize_t i = 0; i < x.size(); ++i) {
    const Balanced<Limbs> found = balanced_limbs<Limbs>(x.data()[i], scale);
    std::copy(found.limb, found.limb + Limbs, limbs.mutable_data() + i * Limbs);
  }
  return limbs;
}

// The dot product of limbs [n][Limbs], as the words of its digits' value.
template <int Limbs>
Array<std::uint32_t> balanced_dot(const Array<std::int32_t>& x, const Array<std::int32_t>& y) {
  BalancedSums<Limbs> sums;
  for (py::ssize_t i = 0; i < x.shape(0); ++i) {
    Balanced<Limbs> own_x, own_y;
    for (int j = 0; j < Limbs; ++j) own_x.limb[j] = x.data()[i * Limbs + j], own_y.limb[j] = y.data()[i * Limbs + j];
    sums.add_product(own_x, own_y);
  }
  const SumDigits found = digits_of(sums);
  std::int64_t digit[kSumDigits];
  std::copy(found.digit, found.digit + kSumDigits, digit);
  digit[kSumDigits - 1] = static_cast<std::int32_t>(found.digit[kSumDigits - 1]);
  Array<std::uint32_t> total({py::ssize_t(1), py::ssize_t(kDigitWords)});
  put_words(total, 0, value_of_digits(digit));
  return total;
}

// How many sums up to `most` have another residue than the GPU's constants give.
std::int64_t wrong_residues_of_sums(int m, std::uint32_t most) {
  ByteModulus<1> constants;
  set_quotient(constants, m, most, 0);
  std::int64_t wrong = 0;
  for (std::uint32_t x = 0; x <= most; ++x) {
    const std::uint32_t found = reduce_dot(constants.preset + x, constants.inverse, constants.shift, constants.negated);
    wrong += (found & 255u) != x % static_cast<std::uint32_t>(m);
  }
  return wrong;
}

// x y, of integers cut as split_integer cuts them, by sums of products of bytes.
template <int Limbs, int Inner>
WideInt<4> dot_of_bytes(const Array<std::int64_t>& x, const Array<std::int64_t>& y) {
  const auto digit = [](std::int64_t v, int i) { return static_cast<std::int8_t>(balanced_bytes(v) >> (8 * i)); };
  std::uint32_t sum[kDiagonals<Limbs>];
  for (int d = 0; d < kDiagonals<Limbs>; ++d) sum[d] = starts_biased<Limbs, Inner>(d) ? kDiagonalBias : 0;
  for (py::ssize_t k = 0; k < x.shape(0); ++k) {
    for (int i = 0; i < Limbs; ++i) {
      for (int j = 0; j < Limbs; ++j) sum[i + j] += static_cast<std::uint32_t>(digit(x.at(k), i) * digit(y.at(k), j));
    }
  }
  return integer_of_diagonals<Limbs, Inner>(sum);
}

template <int Inner>
WideInt<4> dot_of_bytes(int limbs, const Array<std::int64_t>& x, const Array<std::int64_t>& y) {
  return limbs == 7 ? dot_of_bytes<7, Inner>(x, y) : dot_of_bytes<8, Inner>(x, y);
}

// Of seven or eight limbs, and for K up to 64, 128 or 256.
py::tuple dot_of_byte_limbs(int limbs, int inner, const Array<std::int64_t>& x, const Array<std::int64_t>& y) {
  const WideInt<4> total = inner == 64    ? dot_of_bytes<64>(limbs, x, y)
                           : inner == 128 ? dot_of_bytes<128>(limbs, x, y)
                                          : dot_of_bytes<256>(limbs, x, y);
  return py::make_tuple(total.word[0], total.word[1], total.word[2], total.word[3]);
}

void register_balanced(py::module_& module) {
  module.def("balanced_limbs2", &balanced<2>);
  module.def("balanced_limbs3", &balanced<3>);
  module.def("balanced_dot2", &balanced_dot<2>);
  module.def("balanced_dot3", &balanced_dot<3>);
  module.attr("balanced_ranges") = py::make_tuple(py::make_tuple(2, kBalancedCapacity<2>, kBalancedProducts<2>),
                                                  py::make_tuple(3, kBalancedCapacity<3>, kBalancedProducts<3>));
}

// Words of the integers [n][words], which have one exponent each.
int words_of(const Array<std::uint32_t>& words, const Array<std::int32_t>& exponent) {
  if (words.ndim() != 2 || exponent.ndim() != 1 || words.shape(0) != exponent.shape(0))
    throw py::value_error("shapes do not fit");
  return static_cast<int>(words.shape(1));
}

template <class T>
Array<T> round_any(const Array<std::uint32_t>& words, const Array<std::int32_t>& exponent) {
  const int count = words_of(words, exponent);
  if (count == 2) return round_words<T, 2>(words, exponent);
  return dispatch_words(count, [&](auto chosen) { return round_words<T, chosen()>(words, exponent); });
}

// The integers [n][words] with the residues [n][count] modulo the given numbers, by crt_from_columns, or, with which of them
// are uncertain, by crt_lanes (cpu/stages/columns.hpp).
template <int Words>
py::tuple crt_of_residues(const Array<std::uint32_t>& residues, const std::vector<std::int64_t>& moduli) {
  const CrtConstants<Words> constants = make_crt_constants<Words>(moduli);
  const auto count = static_cast<py::ssize_t>(moduli.size());
  Array<std::uint32_t> exact({residues.shape(0), py::ssize_t(Words)}), quick({residues.shape(0), py::ssize_t(Words)});
  Array<bool> uncertain(residues.shape(0));
  for (py::ssize_t first = 0; first < residues.shape(0); first += kLanes) {
    const int n = static_cast<int>(std::min<py::ssize_t>(kLanes, residues.shape(0) - first));
    Columns columns{Words, {}};
    for (int i = 0; i < n; ++i) {
      for (py::ssize_t j = 0; j < count; ++j) {
        const std::uint64_t r = residues.data()[(first + i) * count + j];
        for (int k = 0; k < Words; ++k) columns.sum[k][i] += r * constants.weight[static_cast<std::size_t>(j)].word[k];
      }
    }
    LaneWords x;
    std::int64_t refused[kLanes];
    crt_lanes(columns, n, constants.product, x, refused);
    for (int i = 0; i < n; ++i) {
      WideInt<Words> own;
      for (int k = 0; k < Words; ++k) own.word[k] = x.word[k][i];
      put_words(exact, first + i, integer_of_lane(columns, i, constants.product));
      put_words(quick, first + i, own);
      uncertain.mutable_data()[first + i] = refused[i] != 0;
    }
  }
  return py::make_tuple(exact, quick, uncertain);
}

py::tuple crt(const Array<std::uint32_t>& residues, const std::vector<std::int64_t>& moduli, int words) {
  if (residues.ndim() != 2 || residues.shape(1) != static_cast<py::ssize_t>(moduli.size()))
    throw py::value_error("shapes do not fit");
  return dispatch_words(words, [&](auto chosen) { return crt_of_residues<chosen()>(residues, moduli); });
}

// Every function of arith/wide/wide_int.hpp on one pair of integers, as tests/arith/wide/test_wide_int.py names them.
template <int Words>
py::dict wide_functions(const Array<std::uint32_t>& x_words, const Array<std::uint32_t>& y_words, std::uint32_t factor) {
  const WideInt<Words> x = take_words<Words>(x_words, 0), y = take_words<Words>(y_words, 0);
  const auto array = [](const auto& value) {
    return Array<std::uint32_t>(static_cast<py::ssize_t>(sizeof value.word / 4), value.word);
  };
  std::uint32_t remainder = 0;
  const WideInt<Words> quotient = wide_divide_small(x, factor, remainder);
  const std::uint32_t sign = wide_sign_mask(x);
  py::dict result;
  result["add"] = array(wide_add(x, y));
  result["sub"] = array(wide_sub(x, y));
  result["negate"] = array(wide_negate(x));
  result["mul_small"] = array(wide_mul_small(x, factor));
  result["magnitude"] = array(wide_magnitude(x, sign));
  result["masked"] = array(wide_masked(y, sign));
  result["quotient"] = array(quotient);
  result["remainder"] = remainder;
  result["longer"] = array(wide_resize<Words + 3>(x));
  result["shorter"] = array(wide_resize<Words - 1>(x));
  result["bit_length"] = wide_bit_length(x);
  result["is_negative"] = wide_is_negative(x);
  result["to_double"] = wide_to_double(x);
  return result;
}

py::dict wide(const Array<std::uint32_t>& x, const Array<std::uint32_t>& y, std::uint32_t factor) {
  if (x.ndim() != 1 || y.ndim() != 1 || x.size() != y.size()) throw py::value_error("shapes do not fit");
  if (factor == 0) throw py::value_error("factor: 0 divides nothing");
  return dispatch_words(static_cast<int>(x.size()), [&](auto words) { return wide_functions<words()>(x, y, factor); });
}

std::vector<int> word_counts() {
#define OZFP4_COUNT(Words) Words,
  return {OZFP4_WORD_COUNTS(OZFP4_COUNT)};
#undef OZFP4_COUNT
}

Array<double> round_five_words(const Array<std::uint32_t>& words, const Array<std::int32_t>& exponent) {
  if (words_of(words, exponent) != 5) throw py::value_error("words: 5 per integer");
  return each_rounded<double, 5>(
      words, exponent, [](const WideInt<5>& x, std::int32_t own) { return round_double(sum_of_parts(sum_parts(x)), own); });
}

// round_words by conversion instructions, and which results are rare.
template <class T, int Words>
py::tuple round_words_fast(const Array<std::uint32_t>& words, const Array<std::int32_t>& exponent) {
  Array<T> result(words.shape(0));
  Array<bool> rare(words.shape(0));
  for (py::ssize_t i = 0; i < words.shape(0); ++i) {
    bool is_rare = false;
    result.mutable_data()[i] = round_fast<T>(take_words<Words>(words, i), exponent.data()[i], is_rare);
    rare.mutable_data()[i] = is_rare;
  }
  return py::make_tuple(result, rare);
}

template <class T>
py::tuple round_any_fast(const Array<std::uint32_t>& words, const Array<std::int32_t>& exponent) {
  switch (words_of(words, exponent)) {
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
    put_words(words, i, exact_column_integer(column, constants));
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

}  // namespace

void register_arith(py::module_& parent) {
  py::module_ module = parent.def_submodule("arith", "Elementwise access to the shared arithmetic.");
  module.def("e2m1_decode", py::vectorize([](unsigned code) { return e2m1_decode(code); }));
  module.def("e2m1_encode", py::vectorize([](int limb) { return e2m1_encode(limb); }));
  module.def("e2m1_has", py::vectorize([](int limb) { return e2m1_has(limb); }));
  module.def("exponent64", py::vectorize([](double x) { return exponent_of_magnitude<double>(magnitude_bits(x)); }));
  module.def("exponent32", py::vectorize([](float x) { return exponent_of_magnitude<float>(magnitude_bits(x)); }));
  module.def("scaled_integer64", py::vectorize([](double x, int shift) { return scaled_integer(x, shift); }));
  module.def("scaled_integer32", py::vectorize([](float x, int shift) { return scaled_integer(x, shift); }));
  module.def("limb13", py::vectorize([](std::int64_t v) { return take_limb13(v); }));
  module.def("quotient13", py::vectorize([](std::int64_t v) { return take_limb13(v), v; }));
  module.def("balanced_digit", py::vectorize([](std::int64_t v, int width) { return take_balanced_digit(v, width); }));
  module.def("small_residue", py::vectorize([](std::int64_t v, std::int64_t m) {
               const PieceModulus<float> modulus = make_piece_modulus<float>(m);
               float piece[5];
               for (float& own : piece) own = static_cast<float>(take_balanced_digit(v, kPieceWidth<float>));
               const float r = reduce_pieces(0.0f, piece, modulus.weight, modulus.modulus, modulus.inverse);
               return static_cast<std::int64_t>(r < 0 ? r + modulus.modulus : r);
             }));
  module.def("residue_of_pieces", py::vectorize([](std::int64_t v, std::int64_t m) {
               const PieceModulus<double> modulus = make_piece_modulus<double>(m);
               double piece[3];
               for (double& own : piece) own = static_cast<double>(take_balanced_digit(v, kPieceWidth<double>));
               return static_cast<std::int64_t>(reduce_pieces(0.0, piece, modulus.weight, modulus.modulus, modulus.inverse));
             }));
  module.def("reduce32", py::vectorize([](float x, float m) { return reduce(x, m, 1.0f / m); }));
  module.def("reduce64", py::vectorize([](double x, double m) { return reduce(x, m, 1.0 / m); }));
  module.def("fold_unsigned", py::vectorize([](std::uint32_t x, std::uint32_t m) { return fold_unsigned(x, make_fold(m)); }));
  module.def("fold_signed", py::vectorize([](std::int32_t x, std::uint32_t m, std::uint32_t bound) {
               return fold_signed(x, make_fold(m, bound));
             }));
  register_balanced(module);
  module.def("split_integer", py::vectorize([](double x, int shift) {
               const SplitScale scale = split_scale(shift);
               const SplitInteger integer = split_integer(x * scale.rest, scale.factor);
               const std::uint64_t offset = (std::uint64_t(kSplitOffset) << 32) | kSplitOffset;
               return static_cast<std::int64_t>(((std::uint64_t(integer.high) << 32) | integer.low) - offset);
             }));
  module.def("dot_of_byte_limbs", &dot_of_byte_limbs, py::arg("limbs"), py::arg("inner"), py::arg("x"), py::arg("y"));
  module.def("wrong_residues_of_sums", &wrong_residues_of_sums, py::arg("m"), py::arg("most"));
  module.def("limbed_dot2", &limbed_dot<2>);
  module.def("limbed_dot3", &limbed_dot<3>);
  module.def("limbed_dot4", &limbed_dot<4>);
  module.attr("limbed_ranges") =
      py::make_tuple(py::make_tuple(2, kLimbedBits<2>, kLimbedProducts<2>), py::make_tuple(3, kLimbedBits<3>, kLimbedProducts<3>),
                     py::make_tuple(4, kLimbedBits<4>, kLimbedProducts<4>));
  module.def("round64", &round_any<double>, py::arg("words"), py::arg("exponent"));
  module.def("round32", &round_any<float>, py::arg("words"), py::arg("exponent"));
  module.def("round_pieces", &round_five_words, py::arg("words"), py::arg("exponent"));
  module.def("round_fast64", &round_any_fast<double>, py::arg("words"), py::arg("exponent"));
  module.def("round_fast32", &round_any_fast<float>, py::arg("words"), py::arg("exponent"));
  module.def("word_counts", &word_counts);
  module.def("wide", &wide, py::arg("x"), py::arg("y"), py::arg("factor"));
  module.def("crt", &crt, py::arg("residues"), py::arg("moduli"), py::arg("words"));
  module.def("column_crt", &column_crt, py::arg("columns"), py::arg("inverse"), py::arg("offset"), py::arg("negated"),
             py::arg("product"), py::arg("lowest"));
}

}  // namespace ozfp4::bindings
