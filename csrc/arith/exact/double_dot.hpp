// A dot product in two FP64 numbers with a rigorous bound of its error, term by term, so that a tile of entries can keep many.
//
// With u = 2^-53 each term has, without error, a b = p + e (product and its error) and high + p = high' + q (sum and its error).
// Only t = fl(q + e) and low' = fl(low + t) round. So the exact sum differs from high + low by at most the sum of u |t| + u
// |low'| over the terms. From |t| <= |low'| + |low| + u |low'| this is at most u (3 + u) L, where L is the sum of the |low'|.
// `slack` is L summed in FP64: with n additions at least L (1 - n u). So 4 u slack is a bound wherever n u <= 1/5. A merge rounds
// fl(x.low + y.low) and the addition of q to it; their magnitudes enter slack as well. docs/inside/accuracy.md has the proof.
//
// No product of the real numbers may be contracted with a sum. On a GPU the functions prevent it, on a CPU the options of the
// compiler, see OZFP4_ROUNDS_PRODUCTS (round_products in CMakeLists.txt).
#pragma once

#if !defined(OZFP4_ROUNDS_PRODUCTS)
#error "double_dot.hpp: no product may be contracted with a sum; compile this file with -ffp-contract=off, by round_products"
#endif

#include <cmath>
#include <cstdint>

#include "arith/accuracy/line_facts.hpp"
#include "arith/host_device.hpp"
#include "arith/scale_entry.hpp"

namespace ozfp4 {

// ---- Precondition: lines (rows of A, columns of B) times powers of two --------------------------------------------------------

// Magnitudes stay below 2^(kDotTop + 1), so that products are below 2^802 and sums of 2^31 of them below 2^833.
inline constexpr int kDotTop = 400;
// Where every product is a multiple of 2^kDotFloor, no operation of the dot product underflows, nor does one of its bound.
inline constexpr int kDotFloor = -960;

// The exponent of the power of two by which entries of a line are multiplied; 0 for most. Precondition: any facts; `lowest` may
// be too low.
OZFP4_HD int dot_shift(const LineFacts& facts) {
  const bool fits = facts.exponent <= kDotTop && facts.lowest >= kDotFloor / 2;
  return fits || facts.nonzeros == 0 ? 0 : kDotTop - facts.exponent;
}

// Whether nothing underflows, whatever the pair of entries. Precondition: facts of the two lines, as for dot_shift.
OZFP4_HD bool is_dot_safe(const LineFacts& a, const LineFacts& b) {
  if (a.nonzeros == 0 || b.nonzeros == 0) return true;
  const int lowest_a = a.lowest + dot_shift(a), lowest_b = b.lowest + dot_shift(b);
  return lowest_a >= kDotFloor && lowest_b >= kDotFloor && lowest_a + lowest_b >= kDotFloor;
}

// An entry as the dot product takes it: times first * second = 2^shift, the powers of halves_of(dot_shift). Exact where
// is_dot_safe holds; else the error, below 2^-1021, is part of dot_bound.
template <class T>
OZFP4_HD double dot_operand(T x, double first, double second) {
  return static_cast<double>(x) * first * second;
}

// ---- The sum --------------------------------------------------------------------------------------------------------

struct DoubleDot {
  double high = 0.0, low = 0.0;
  double slack = 0.0;  // the sum of |low| over the terms
};

// x y, x + y and x y + z, each rounded once.
OZFP4_HD double dot_product(double x, double y) {
#if defined(__CUDA_ARCH__)
  return __dmul_rn(x, y);
#else
  return x * y;
#endif
}
OZFP4_HD double dot_plus(double x, double y) {
#if defined(__CUDA_ARCH__)
  return __dadd_rn(x, y);
#else
  return x + y;
#endif
}

// The error of sum = fl(x + y), exactly (Knuth).
OZFP4_HD double error_of_sum(double x, double y, double sum) {
  const double part = dot_plus(sum, -x);
  return dot_plus(dot_plus(x, -dot_plus(sum, -part)), dot_plus(y, -part));
}

// The error of product = fl(x y), exactly where nothing underflows. Where no instruction fuses, by halves of 26 bits (Veltkamp,
// Dekker) with exact products. Precondition: |x|, |y| < 2^(kDotTop + 1).
template <bool IsFused>
OZFP4_HD double error_of_product(double x, double y, double product) {
  if constexpr (IsFused) {
    return fused_multiply_add(x, y, -product);
  } else {
    constexpr double splitter = 134217729.0;  // 2^27 + 1
    const double scaled_x = dot_product(x, splitter), scaled_y = dot_product(y, splitter);
    const double high_x = dot_plus(scaled_x, -dot_plus(scaled_x, -x)), low_x = dot_plus(x, -high_x);
    const double high_y = dot_plus(scaled_y, -dot_plus(scaled_y, -y)), low_y = dot_plus(y, -high_y);
    const double first = dot_plus(dot_product(high_x, high_y), -product);
    const double second = dot_plus(dot_plus(first, dot_product(high_x, low_y)), dot_product(low_x, high_y));
    return dot_plus(second, dot_product(low_x, low_y));
  }
}

// Adds x + error. Precondition: |error| <= u |x| or 0; see kDotTop.
OZFP4_HD void add_pair(DoubleDot& dot, double x, double error) {
  const double sum = dot_plus(dot.high, x);
  const double rest = dot_plus(error_of_sum(dot.high, x, sum), error);
  dot.high = sum;
  dot.low = dot_plus(dot.low, rest);
  dot.slack = dot_plus(dot.slack, fabs(dot.low));
}

// Adds a b. Precondition: |a|, |b| < 2^(kDotTop + 1): entries by dot_operand.
template <bool IsFused = true>
OZFP4_HD void add_product(DoubleDot& dot, double a, double b) {
  const double product = dot_product(a, b);
  add_pair(dot, product, error_of_product<IsFused>(a, b, product));
}

// The same where FP64 holds every product exactly: entries that are FP32 numbers.
OZFP4_HD void add_short_product(DoubleDot& dot, double a, double b) { add_pair(dot, dot_product(a, b), 0.0); }

// The sum of two partial sums. Precondition: 2^31 terms in all.
OZFP4_HD DoubleDot merge(const DoubleDot& x, const DoubleDot& y) {
  DoubleDot both;
  both.high = dot_plus(x.high, y.high);
  const double low = dot_plus(x.low, y.low);
  both.low = dot_plus(low, error_of_sum(x.high, y.high, both.high));
  both.slack = dot_plus(dot_plus(x.slack, y.slack), dot_plus(fabs(low), fabs(both.low)));
  return both;
}

// A bound of |exact sum - (high + low)|, 0 where no operation rounded. `terms` counts them all, is_safe is is_dot_safe of the two
// lines. The 2^-970, less than anything that a safe dot product can lose, makes good what the multiplication and the subtractions
// of settle lose near the smallest numbers. An unsafe one loses at most 2^-1021 at each of its 25 or fewer operations in a term,
// the two operands among them, times the other operand: less than 2^-600. Precondition: terms <= 2^31.
OZFP4_HD double dot_bound(const DoubleDot& dot, std::int64_t terms, bool is_safe) {
  double bound = dot.slack > 0.0 ? dot_plus(dot_product(dot.slack, 0x1p-51), 0x1p-970) : 0.0;
  if (!is_safe) bound = dot_plus(bound, dot_product(static_cast<double>(terms), 0x1p-600));
  return bound;
}

}  // namespace ozfp4
