// A dot product in three FP64 numbers with a rigorous bound of its error: where terms cancel to what two of them have lost.
//
// Each term has, without error, a b = p + e, high + p = high' + q, middle + q = part + r, part + e = middle' + s. Only t = fl(r +
// s) and low' = fl(low + t) round, as in double_dot.hpp. With L the sum of the |low'|, u (3 + u) L bounds the error, and so does
// 4 u slack, with `slack` being L summed in FP64. The same as there goes for ranges and contraction.
#pragma once

#include <cmath>
#include <cstdint>

#include "arith/exact/double_dot.hpp"
#include "arith/host_device.hpp"

namespace ozfp4 {

struct TripleDot {
  double high = 0.0, middle = 0.0, low = 0.0;
  double slack = 0.0;  // the sum of |low| over the terms
};

// Adds x + error. Precondition: |error| <= u |x| or 0; see kDotTop.
OZFP4_HD void add_pair(TripleDot& dot, double x, double error) {
  const double high = dot_plus(dot.high, x), q = error_of_sum(dot.high, x, high);
  const double part = dot_plus(dot.middle, q), r = error_of_sum(dot.middle, q, part);
  const double middle = dot_plus(part, error), s = error_of_sum(part, error, middle);
  dot.high = high;
  dot.middle = middle;
  dot.low = dot_plus(dot.low, dot_plus(r, s));
  dot.slack = dot_plus(dot.slack, fabs(dot.low));
}

// Adds a b. Precondition: |a|, |b| < 2^(kDotTop + 1): entries by dot_operand.
template <bool IsFused = true>
OZFP4_HD void add_product(TripleDot& dot, double a, double b) {
  const double product = dot_product(a, b);
  add_pair(dot, product, error_of_product<IsFused>(a, b, product));
}

// The same where FP64 holds every product exactly.
OZFP4_HD void add_short_product(TripleDot& dot, double a, double b) { add_pair(dot, dot_product(a, b), 0.0); }

// The sum of two partial sums. Precondition: 2^31 terms in all.
OZFP4_HD TripleDot merge(const TripleDot& x, const TripleDot& y) {
  TripleDot both;
  both.high = dot_plus(x.high, y.high);
  const double q = error_of_sum(x.high, y.high, both.high);
  const double part = dot_plus(x.middle, y.middle), r = error_of_sum(x.middle, y.middle, part);
  both.middle = dot_plus(part, q);
  const double s = error_of_sum(part, q, both.middle);
  // Three additions round, by u of their results at most.
  const double rest = dot_plus(r, s), low = dot_plus(x.low, y.low);
  both.low = dot_plus(low, rest);
  both.slack = dot_plus(dot_plus(x.slack, y.slack), dot_plus(dot_plus(fabs(low), fabs(rest)), fabs(both.low)));
  return both;
}

// Two numbers and a bound, as settle takes them.
struct BoundedDot {
  DoubleDot dot;
  double bound;
};

// A number and its distance from the exact sum. `terms` and is_safe are those of dot_bound. The last rounding error counts twice,
// for the rounding of the bound. An unsafe sum has up to 40 operations in a term, which dot_bound's 2^-600 covers as it does 25.
OZFP4_HD BoundedDot bounded(const TripleDot& dot, std::int64_t terms, bool is_safe) {
  const double sum = dot_plus(dot.high, dot.middle), rest = error_of_sum(dot.high, dot.middle, sum);
  const double low = dot_plus(rest, dot.low), lost = fabs(error_of_sum(rest, dot.low, low));
  const double bound = dot_bound({sum, low, dot.slack}, terms, is_safe);
  return {{sum, low, dot.slack}, lost > 0.0 ? dot_plus(bound, dot_plus(2 * lost, 0x1p-970)) : bound};
}

}  // namespace ozfp4
