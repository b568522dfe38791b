// round_update for the common case, in FP64 arithmetic: what CPUs do eight at a time.
//
// The integer is sum + rest + d with |d| <= 3 * 2^-52 |rest|, as in SumOfPieces (cpu/crt/round_pieces.hpp). The product lies
// within `error` of it.
// With p = fl(alpha sum), q = fl(beta c), t = fl(p + q) and their errors, which are exact,
//     alpha x + beta c = t + v,   v = error(t) + alpha rest + error(p) + error(q) + alpha d.
// Let M be the sum of the magnitudes of the first four. v is computed with four roundings, so that it and alpha d are off by less
// than 2^-49 M. Adding or taking off the margin m = fl(2^-48 M) adds less than 2^-51 M. So alpha x + beta c lies between t + fl(v
// - m) and t + fl(v + m), and where both round to the same number, that is the result. Where the last three and the error are 0
// nothing but the addition rounded, v is its error, and the margin is 0. An error enlarges the margin by |alpha| error and a
// millionth of it, which has room for the roundings of both.
//
// Range of what is not refused: factors are in [2^-200, 2^200] in magnitude, the integer times 2^exponent, its parts and c in
// [2^-400, 2^400] or 0. Products are then 0 or above 2^-600, and no error underflows. An exact zero
// is +0; what else rounds to 0 is refused.
//
// No product may be contracted with a sum: arith/exact/double_dot.hpp makes sure.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "arith/exact/double_dot.hpp"
#include "arith/host_device.hpp"
#include "arith/scale_entry.hpp"

namespace ozfp4 {

inline constexpr std::int32_t kLeastNearExponent = -400, kMostNearExponent = 400 - 160;  // of integers below 2^160

// alpha y 2^exponent + beta c of every y within `error` of x, rounded once to nearest even. `refused` is not 0 where it is not
// certain, and the result is meaningless then. Precondition: factors of are_near_factors, |x| < 2^160, sum and rest multiples of
// 1, error 0 or in [1/2, 2^200]; any exponent and c.
template <class T>
OZFP4_HD T near_update(double sum, double rest, double error, std::int32_t exponent, double alpha, double beta, double c,
                       std::int64_t& refused) {
  const bool is_out = exponent < kLeastNearExponent || exponent > kMostNearExponent;
  const double power = exact_power_of_two<double>(is_out ? 0 : exponent);
  const double first = dot_product(sum, power), product = dot_product(alpha, first), addend = dot_product(beta, c);
  const double total = dot_plus(product, addend);
  const double of_total = error_of_sum(product, addend, total);
  const double of_rest = dot_product(alpha, dot_product(rest, power));
  const double of_product = error_of_product<false>(alpha, first, product);
  const double of_addend = error_of_product<false>(beta, c, addend);
  const double low = dot_plus(dot_plus(of_total, of_rest), dot_plus(of_product, of_addend));
  const double others = dot_plus(fabs(of_rest), dot_plus(fabs(of_product), fabs(of_addend)));
  const double most = dot_plus(fabs(of_total), others);
  const double of_error = dot_product(fabs(alpha), dot_product(dot_product(error, 1.0 + 0x1p-20), power));
  const bool is_exact = most == 0.0 && error == 0.0;
  const double margin = dot_plus(dot_product(most, others == 0.0 && error == 0.0 ? 0.0 : 0x1p-48), of_error);
  double lower = dot_plus(total, dot_plus(low, -margin)), upper = dot_plus(total, dot_plus(low, margin));
  if constexpr (std::is_same_v<T, float>) {
    // The exact value lies within a place of FP64 of both.
    const double place = is_exact ? 0.0 : 0x1p-52;
    lower = dot_plus(lower, -dot_product(fabs(lower), place));
    upper = dot_plus(upper, dot_product(fabs(upper), place));
  }
  const T result = static_cast<T>(lower) + T(0), other = static_cast<T>(upper);  // -0 + 0 = +0
  const bool is_in = fabs(c) <= 0x1p400 && (c == 0.0 || fabs(c) >= 0x1p-400);    // false for NaN
  refused = static_cast<std::int64_t>(is_out) | static_cast<std::int64_t>(!is_in) |
            static_cast<std::int64_t>(!(result == other)) |
            (static_cast<std::int64_t>(result == T(0)) &
             (static_cast<std::int64_t>(!is_exact) | static_cast<std::int64_t>(total != 0.0)));
  return result;
}

}  // namespace ozfp4
