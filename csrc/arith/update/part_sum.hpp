// A few complex numbers times factors, added up: each part of the sum exact, and rounded once to nearest.
#pragma once

#include <cstdint>

#include "arith/exact/exact_sum.hpp"
#include "arith/exact/settle.hpp"
#include "arith/exact/triple_dot.hpp"
#include "arith/float_fields.hpp"
#include "arith/host_device.hpp"
#include "arith/modes.hpp"
#include "arith/update/update.hpp"

namespace ozfp4 {

inline constexpr int kMostSummed = 3;  // so many complex numbers

// Products of two real numbers, of which a part is the sum. NaN and infinity follow IEEE, 0 times infinity included; where a
// number is one of them, finite ones change nothing.
struct PartSum {
  double x[2 * kMostSummed] = {}, factor[2 * kMostSummed] = {};
  bool are_finite = true;
  bool is_safe = true;  // no operation of a TripleDot of them underflows or overflows

  // Precondition: a finite factor; each place once.
  OZFP4_HD void put(int place, double number, double times) {
    x[place] = number;
    factor[place] = times;
    are_finite = are_finite && is_finite(number);
    if (number != 0 && times != 0) is_safe = is_safe && is_moderate(number) && is_moderate(times);
  }

 private:
  // In [2^-400, 2^401): a product of two is below 2^802, and a multiple of 2^-904, which is not below 2^kDotFloor.
  static OZFP4_HD bool is_moderate(double number) { return fabs(number) >= 0x1p-400 && fabs(number) < 0x1p401; }
};

struct ComplexSum {
  PartSum real, imaginary;

  // Precondition: `index` below kMostSummed, each once.
  OZFP4_HD void add(int index, double x, double y, double factor_real, double factor_imaginary) {
    real.put(2 * index, x, factor_real);
    real.put(2 * index + 1, y, -factor_imaginary);
    imaginary.put(2 * index, x, factor_imaginary);
    imaginary.put(2 * index + 1, y, factor_real);
  }
};

// The sum where a product has NaN or infinity.
template <class T>
OZFP4_HD T special_sum(const PartSum& of) {
  double sum = 0;
  for (int i = 0; i < 2 * kMostSummed; ++i) {
    if (!is_finite(of.x[i])) sum = dot_plus(sum, dot_product(of.x[i], of.factor[i]));
  }
  if (magnitude_bits(sum) <= kInfinityBits<double>) return static_cast<T>(sum);
  return float_from_bits<T>(kInfinityBits<T> | kInfinityBits<T> >> 1);  // the quiet NaN
}

// Whether an approximate sum decides; an exact zero is +0. Where three numbers hold all of the sum they know a tie for one.
// Precondition: all are finite; IsFused: of error_of_product.
template <class T, bool IsFused>
OZFP4_HD bool settle_sum(const PartSum& of, T& result) {
  if (!of.is_safe) return false;
  TripleDot dot;
  for (int i = 0; i < 2 * kMostSummed; ++i) {
    if (of.x[i] != 0 && of.factor[i] != 0) add_product<IsFused>(dot, of.x[i], of.factor[i]);
  }
  const BoundedDot sum = bounded(dot, 2 * kMostSummed, true);
  return settle<T>(sum.dot, sum.bound, 0, Rounding::nearest, result);
}

// The same, whatever they are, in digits that are 0 before. They may lie in shared memory.
template <class T>
OZFP4_HD T exact_sum(const PartSum& of, std::int64_t* digit) {
  for (int i = 0; i < 2 * kMostSummed; ++i) {
    if (of.x[i] != 0 && of.factor[i] != 0) add_product(digit, of.x[i], of.factor[i]);
  }
  resolve_carries(digit);
  return round_digits<T>(digit, Rounding::nearest);
}

// A bound, rounded up, of the error of a part of alpha X, or of that and more. It is the error of its rounding, plus |alpha|
// times the errors of this part of X and of the other one. In digits that are 0 before. Precondition: finite and nonnegative but
// for the factors.
OZFP4_HD double sum_bound(std::int64_t* digit, double rounding, double alpha_real, double own, double alpha_imaginary,
                          double other) {
  add_product(digit, rounding, 1.0);
  add_product(digit, fabs(alpha_real), own);
  add_product(digit, fabs(alpha_imaginary), other);
  resolve_carries(digit);
  return round_digits<double>(digit, Rounding::up);
}

}  // namespace ozfp4
