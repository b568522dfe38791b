#include "cpu/complex/combine.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "arith/exact/double_dot.hpp"
#include "arith/exact/exact_sum.hpp"
#include "arith/exact/settle.hpp"
#include "cpu/runtime/matrix_view.hpp"
#include "cpu/runtime/threads.hpp"

namespace ozfp4 {
namespace {

constexpr std::int64_t kGrain = 1 << 12;  // entries that are worth a thread

// Products of two real numbers, of which one part of an entry is the sum.
struct RealSum {
  std::array<double, 2 * kMostTerms> x, factor;
  int count = 0;
  bool is_finite = true;
  bool is_safe = true;  // no operation of a DoubleDot of them underflows or overflows

  // Range: a finite factor.
  void add(double number, double times) {
    if (!std::isfinite(number)) is_finite = false;
    if (is_finite && (number == 0 || times == 0)) return;
    is_safe = is_safe && is_moderate(number) && is_moderate(times);
    x[static_cast<std::size_t>(count)] = number;
    factor[static_cast<std::size_t>(count++)] = times;
  }

 private:
  // In [2^-400, 2^401): a product of two is below 2^802, and a multiple of 2^-904, which is not below 2^kDotFloor.
  static bool is_moderate(double number) { return std::fabs(number) >= 0x1p-400 && std::fabs(number) < 0x1p401; }
};

template <class T>
T special_sum(const RealSum& of) {
  double sum = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(of.count); ++i) {
    if (!std::isfinite(of.x[i])) sum += of.x[i] * of.factor[i];
  }
  return std::isnan(sum) ? std::numeric_limits<T>::quiet_NaN() : static_cast<T>(sum);
}

template <class T>
T rounded_sum(const RealSum& of) {
  if (!of.is_finite) return special_sum<T>(of);
  if (of.is_safe) {
    DoubleDot dot;
    for (std::size_t i = 0; i < static_cast<std::size_t>(of.count); ++i) add_product<false>(dot, of.x[i], of.factor[i]);
    T result;
    if (settle<T>(dot, dot_bound(dot, of.count, true), 0, Rounding::nearest, result)) return result;
  }
  ExactSum sum;
  for (std::size_t i = 0; i < static_cast<std::size_t>(of.count); ++i) add_product(sum, of.x[i], of.factor[i]);
  return round_exact<T>(sum, Rounding::nearest);
}

template <class T>
void combine_entry(const std::vector<ComplexTerm>& terms, std::int64_t row, std::int64_t column, char* place) {
  RealSum real, imaginary;
  for (const ComplexTerm& term : terms) {
    const char* entry = term.data + row * term.stride + column * static_cast<std::int64_t>(2 * sizeof(T));
    const double x = load<T>(entry), y = load<T>(entry + sizeof(T));
    real.add(x, term.factor.real());
    real.add(y, -term.factor.imag());
    imaginary.add(x, term.factor.imag());
    imaginary.add(y, term.factor.real());
  }
  store(place, rounded_sum<T>(real));
  store(place + sizeof(T), rounded_sum<T>(imaginary));
}

}  // namespace

void combine_complex(const std::vector<ComplexTerm>& terms, ElementType part, std::int64_t rows, std::int64_t columns, char* c,
                     std::ptrdiff_t stride) {
  if (terms.size() > kMostTerms) throw std::logic_error("combine_complex: more terms than there is room for");
  with_float(part, [&](auto zero) {
    using T = decltype(zero);
    parallel_for(rows * columns, kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t row = i / columns, column = i % columns;
        combine_entry<T>(terms, row, column, c + row * stride + column * static_cast<std::int64_t>(2 * sizeof(T)));
      }
    });
  });
}

}  // namespace ozfp4
