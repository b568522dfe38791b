// Correctly rounded sums of products and what they are made of, for the tests: each part by itself, to the ends of its range.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <string>

#include "arith/exact/double_dot.hpp"
#include "arith/exact/exact_sum.hpp"
#include "arith/exact/settle.hpp"
#include "arith/exact/triple_dot.hpp"
#include "arith/update/settle_update.hpp"
#include "arith/update/update.hpp"
#include "arith/wide/round_wide.hpp"
#include "arith/wide/wide_int.hpp"
#include "arith/wide/word_counts.hpp"
#include "bindings/testing.hpp"
#include "cpu/crt/round_pieces.hpp"
#include "cpu/repair/correct_dot.hpp"
#include "cpu/runtime/matrix_view.hpp"
#include "cuda/reconstruct/round_fast.hpp"

namespace ozfp4::bindings {
namespace {

Rounding rounding_of(const std::string& name) {
  if (name == "nearest") return Rounding::nearest;
  if (name == "down") return Rounding::down;
  if (name == "up") return Rounding::up;
  if (name == "zero") return Rounding::zero;
  throw py::value_error("rounding: '" + name + "' is none of nearest, down, up, zero");
}

// use(T()) for the floating-point type of the name float32 or float64.
template <class Use>
auto dispatch_float(const py::dtype& type, Use&& use) {
  if (type.is(py::dtype::of<double>())) return use(double());
  if (type.is(py::dtype::of<float>())) return use(float());
  throw py::value_error("dtype: neither float32 nor float64");
}

// A result as NumPy has it.
template <class T>
py::object scalar(T x) {
  return py::array_t<T>(1, &x)[py::int_(0)];
}

// ---- Rounding -------------------------------------------------------------------------------------------------------

// integer 2^exponent, of integers [n][words]: "scaled", "fast" or in "pieces" as stages round, or in the direction that `way`
// names. (Results, which of them are rare.)
py::tuple round_words(const Array<std::uint32_t>& words, const Array<std::int32_t>& exponent, const std::string& way,
                      const py::dtype& type) {
  require_fit(words.ndim() == 2 && exponent.ndim() == 1 && words.shape(0) == exponent.shape(0));
  return dispatch_float(type, [&](auto zero) {
    using T = decltype(zero);
    return pick<2, 4, 5, 6, 8, 12, 16, 20>(static_cast<int>(words.shape(1)), [&](auto count) -> py::tuple {
      constexpr int n = count();
      Array<T> result(words.shape(0));
      Array<bool> rare(words.shape(0));
      for (py::ssize_t i = 0; i < words.shape(0); ++i) {
        const WideInt<n> x = take_words<n>(words, i);
        const std::int32_t own = exponent.data()[i];
        T& rounded = result.mutable_data()[i];
        bool is_rare = false;
        if (way == "scaled") {
          rounded = round_scaled<T>(x, own);
        } else if (way == "fast") {
          if constexpr (n <= 6 && n % 2 == 0) rounded = round_fast<T>(x, own, is_rare);
        } else if (way == "pieces") {
          if constexpr (n == 5) rounded = static_cast<T>(round_double(sum_of_parts(sum_parts(x)), own));
        } else {
          rounded = round_wide<T>(x, own, rounding_of(way));
        }
        rare.mutable_data()[i] = is_rare;
      }
      return py::make_tuple(result, rare);
    });
  });
}

// ---- Dot products ---------------------------------------------------------------------------------------------------

DotLine line_of(const py::array& x) {
  return dispatch_float(x.dtype(), [&](auto zero) {
    const auto type = sizeof zero == 8 ? ElementType::float64 : ElementType::float32;
    return dot_line(x.data(), x.strides(0), type, x.shape(0));
  });
}

// use(line of a, line of b).
template <class Use>
auto with_lines(const py::array& a, const py::array& b, Use&& use) {
  require_fit(a.ndim() == 1 && b.ndim() == 1 && a.shape(0) == b.shape(0));
  return use(line_of(a), line_of(b));
}

double entry(const DotLine& line, std::int64_t k) {
  const char* address = static_cast<const char*>(line.data) + k * line.stride;
  return with_float(line.type, [&](auto zero) { return static_cast<double>(load<decltype(zero)>(address)); });
}

// (result, "pairs" or "exact")
py::tuple dot(const py::array& a, const py::array& b, const std::string& rounding, const py::dtype& type) {
  return dispatch_float(type, [&](auto zero) {
    return with_lines(a, b, [&](const DotLine& x, const DotLine& y) {
      const auto result = correct_dot<decltype(zero)>(x, y, a.shape(0), rounding_of(rounding));
      return py::make_tuple(scalar(result.value), result.path == DotPath::pairs ? "pairs" : "exact");
    });
  });
}

BoundedDot bounded(const DoubleDot& dot, std::int64_t terms, bool is_safe) { return {dot, dot_bound(dot, terms, is_safe)}; }

// The approximate sum in `parts` partial ones, term k in number k mod parts, merged one after the other. Returns high, low,
// bound, is_safe and the exponent by which high + low is to be multiplied. Dot: DoubleDot or TripleDot.
template <class Dot>
py::tuple approximate(const py::array& a, const py::array& b, const std::string& product, int parts) {
  if (parts < 1 || parts > 64) throw py::value_error("parts: 1 to 64");
  return with_lines(a, b, [&](const DotLine& x, const DotLine& y) {
    const int shift_a = dot_shift(x.facts), shift_b = dot_shift(y.facts);
    const auto operand = [](auto value, int shift) {
      const ShiftHalves halves = halves_of(shift);
      return dot_operand(value, exact_power_of_two<double>(halves.first), exact_power_of_two<double>(halves.second));
    };
    Dot sums[64];
    for (std::int64_t k = 0; k < a.shape(0); ++k) {
      Dot& sum = sums[k % parts];
      const double p = operand(entry(x, k), shift_a), q = operand(entry(y, k), shift_b);
      if (product == "fused")
        add_product<true>(sum, p, q);
      else if (product == "split")
        add_product<false>(sum, p, q);
      else if (product == "short")
        add_short_product(sum, p, q);
      else
        throw py::value_error("product: fused, split or short");
    }
    Dot sum = sums[0];
    for (int i = 1; i < parts; ++i) sum = merge(sum, sums[i]);
    const bool is_safe = is_dot_safe(x.facts, y.facts);
    const BoundedDot found = bounded(sum, a.shape(0), is_safe);
    return py::make_tuple(found.dot.high, found.dot.low, found.bound, is_safe, -(shift_a + shift_b));
  });
}

// (whether it is certain, result)
py::tuple settled(double high, double low, double bound, int exponent, const std::string& rounding, const py::dtype& type) {
  return dispatch_float(type, [&](auto zero) {
    decltype(zero) result;
    const bool is_certain = settle(DoubleDot{high, low, 0.0}, bound, exponent, rounding_of(rounding), result);
    return py::make_tuple(is_certain, scalar(result));
  });
}

py::object pair(double x, double y, int exponent, const std::string& rounding, const py::dtype& type) {
  return dispatch_float(
      type, [&](auto zero) -> py::object { return scalar(round_pair<decltype(zero)>(x, y, exponent, rounding_of(rounding))); });
}

// The exact sum alone, and its digits before any carry.
py::tuple exact(const py::array& a, const py::array& b, const std::string& rounding, const py::dtype& type) {
  return dispatch_float(type, [&](auto zero) {
    return with_lines(a, b, [&](const DotLine& x, const DotLine& y) {
      ExactSum sum;
      for (std::int64_t k = 0; k < a.shape(0); ++k) add_product(sum, entry(x, k), entry(y, k));
      const Array<std::int64_t> digits(kExactDigits, sum.digit);
      return py::make_tuple(scalar(round_exact<decltype(zero)>(sum, rounding_of(rounding))), digits);
    });
  });
}

py::object digits(const Array<std::int64_t>& digits, const std::string& rounding, const py::dtype& type) {
  require_fit(digits.size() == kExactDigits);
  return dispatch_float(type, [&](auto zero) -> py::object {
    ExactSum sum;
    for (int i = 0; i < kExactDigits; ++i) sum.digit[i] = digits.data()[i];
    return scalar(round_exact<decltype(zero)>(sum, rounding_of(rounding)));
  });
}

// alpha x 2^exponent + beta c of an integer of any of the word counts.
py::object update(const Array<std::uint32_t>& words, int exponent, double alpha, double beta, double c,
                  const std::string& rounding, const py::dtype& type) {
  const Update factors = Update::of(alpha, beta);
  return dispatch_float(type, [&](auto zero) -> py::object {
    return dispatch_words(static_cast<int>(words.size()), [&](auto count) -> py::object {
      const auto x = take_words<count()>(words);
      return scalar(round_update<decltype(zero)>(x, exponent, factors, addend_of(factors, c), rounding_of(rounding)));
    });
  });
}

// alpha (sum a_k b_k) + beta c: (result, "pairs" or "exact"), and the result of the exact sum alone.
py::tuple dot_update(const py::array& a, const py::array& b, double alpha, double beta, double c, const std::string& rounding,
                     const py::dtype& type) {
  const Update factors = Update::of(alpha, beta);
  const Addend addend = addend_of(factors, c);
  return dispatch_float(type, [&](auto zero) {
    return with_lines(a, b, [&](const DotLine& x, const DotLine& y) {
      const auto result = correct_update<decltype(zero)>(x, y, a.shape(0), factors, addend, rounding_of(rounding));
      ExactSum sum;
      for (std::int64_t k = 0; k < a.shape(0); ++k) add_product(sum, entry(x, k), entry(y, k));
      resolve_carries(sum.digit);
      std::uint32_t room[kScaledDigits];
      const auto whole = round_digits_update<decltype(zero)>(sum.digit, factors, addend, room, rounding_of(rounding));
      return py::make_tuple(scalar(result.value), result.path == DotPath::pairs ? "pairs" : "exact", scalar(whole));
    });
  });
}

}  // namespace

void register_exact(py::module_& parent) {
  py::module_ module = parent.def_submodule("exact", "Correctly rounded sums of products, and what they are made of.");
  module.def("round_words", &round_words);
  module.def("round_pair", &pair);
  module.def("double_dot", &approximate<DoubleDot>);
  module.def("triple_dot", &approximate<TripleDot>);
  module.def("settle", &settled);
  module.def("exact", &exact);
  module.def("round_digits", &digits);
  module.def("correct_dot", &dot);
  module.def("round_update", &update);
  module.def("correct_update", &dot_update);
}

}  // namespace ozfp4::bindings
