// The shared arithmetic, elementwise over arrays, so that the tests reach every function to the ends of its range.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "arith/float_fields.hpp"
#include "arith/fold.hpp"
#include "arith/limbs/e2m1.hpp"
#include "arith/limbs/limbs.hpp"
#include "arith/limbs/signed_bytes.hpp"
#include "arith/scale_entry.hpp"
#include "arith/wide/column_crt.hpp"
#include "arith/wide/wide_int.hpp"
#include "arith/wide/word_counts.hpp"
#include "bindings/testing.hpp"
#include "cpu/crt/columns.hpp"
#include "cpu/encode/residue.hpp"
#include "cuda/direct/limb_sums.hpp"
#include "cuda/encode/residue_bytes.hpp"
#include "cuda/thin/balanced_limbs.hpp"
#include "cuda/tiles/split_integer.hpp"
#include "plan/moduli/moduli.hpp"

namespace ozfp4::bindings {
namespace {

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
  Array<std::uint32_t> total(kLimbedWords);
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
  Array<std::uint32_t> total(kDigitWords);
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

// The integers [n][words] with the residues [n][count] modulo the given numbers, by crt_from_columns, or, with which of them
// are uncertain, by crt_lanes (cpu/crt/columns.hpp).
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
  require_fit(residues.ndim() == 2 && residues.shape(1) == static_cast<py::ssize_t>(moduli.size()));
  return dispatch_words(words, [&](auto chosen) { return crt_of_residues<chosen()>(residues, moduli); });
}

// Every function of arith/wide/wide_int.hpp on one pair of integers, as tests/arith/wide/test_wide_int.py names them.
template <int Words>
py::dict wide_functions(const Array<std::uint32_t>& x_words, const Array<std::uint32_t>& y_words, std::uint32_t factor) {
  const WideInt<Words> x = take_words<Words>(x_words), y = take_words<Words>(y_words);
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
  require_fit(x.size() == y.size() && factor != 0);
  return dispatch_words(static_cast<int>(x.size()), [&](auto words) { return wide_functions<words()>(x, y, factor); });
}

// The CRT of columns [n][2 Words] with the constants of one product, all in 32-bit words: the integers times 2^shift as
// words [n][Words], and which quotients are uncertain.
template <int Words>
py::tuple crt_of_columns(const Array<std::uint32_t>& columns, std::uint32_t inverse, std::uint32_t offset,
                         const Array<std::uint32_t>& negated, const Array<std::uint32_t>& product,
                         const Array<std::uint32_t>& lowest) {
  require_fit(negated.size() == 2 * Words && product.size() == Words && lowest.size() == Words);
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
  module.def("split_integer", py::vectorize([](double x, int shift) {
               const SplitScale scale = split_scale(shift);
               const SplitInteger integer = split_integer(x * scale.rest, scale.factor);
               const std::uint64_t offset = (std::uint64_t(kSplitOffset) << 32) | kSplitOffset;
               return static_cast<std::int64_t>(((std::uint64_t(integer.high) << 32) | integer.low) - offset);
             }));
  module.def("dot_of_byte_limbs", [](int limbs, int inner, const Array<std::int64_t>& x, const Array<std::int64_t>& y) {
    const WideInt<4> total = pick<7, 8>(limbs, [&](auto count) {
      return pick<64, 128, 256>(inner, [&](auto most) { return dot_of_bytes<count(), most()>(x, y); });
    });
    return Array<std::uint32_t>(4, total.word);
  });
  module.def("wrong_residues_of_sums", &wrong_residues_of_sums);
  module.def("balanced_limbs", [](int limbs, const Array<double>& x, double scale) {
    return pick<2, 3>(limbs, [&](auto count) { return balanced<count()>(x, scale); });
  });
  module.def("balanced_dot", [](int limbs, const Array<std::int32_t>& x, const Array<std::int32_t>& y) {
    return pick<2, 3>(limbs, [&](auto count) { return balanced_dot<count()>(x, y); });
  });
  module.def("limbed_dot", [](int limbs, const Array<std::uint32_t>& x, const Array<std::uint32_t>& y) {
    return pick<2, 3, 4>(limbs, [&](auto count) { return limbed_dot<count()>(x, y); });
  });
  using Ranges = std::vector<std::tuple<int, int, std::int64_t>>;
  module.attr("balanced_ranges") =
      Ranges{{2, kBalancedCapacity<2>, kBalancedProducts<2>}, {3, kBalancedCapacity<3>, kBalancedProducts<3>}};
  module.attr("limbed_ranges") = Ranges{
      {2, kLimbedBits<2>, kLimbedProducts<2>}, {3, kLimbedBits<3>, kLimbedProducts<3>}, {4, kLimbedBits<4>, kLimbedProducts<4>}};
#define OZFP4_COUNT(Words) Words,
  module.attr("word_counts") = std::vector<int>{OZFP4_WORD_COUNTS(OZFP4_COUNT)};
#undef OZFP4_COUNT
  module.def("wide", &wide);
  module.def("crt", &crt);
  module.def("column_crt", [](const Array<std::uint32_t>& columns, std::uint32_t inverse, std::uint32_t offset,
                              const Array<std::uint32_t>& negated, const Array<std::uint32_t>& product,
                              const Array<std::uint32_t>& lowest) {
    require_fit(columns.ndim() == 2);
    return pick<2, 4, 6>(static_cast<int>(columns.shape(1) / 2),
                         [&](auto words) { return crt_of_columns<words()>(columns, inverse, offset, negated, product, lowest); });
  });
}

}  // namespace ozfp4::bindings
