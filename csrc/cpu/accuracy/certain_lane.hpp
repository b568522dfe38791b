// The rounding test of accuracy="correct" for one entry, so that loops over entries vectorise.
//
// With x = sum + rest and r = fl(x), t = rest - (r - sum) is the distance of x from r, exactly but for what rest is off by, at
// most |rest| 2^-52, and |t| <= 2 |rest|. So x and all numbers within `error` of it lie in r + [t - m, t + m] with
// m >= error + |rest| 2^-48, which has room for the rounding of t +- m. Without an error, and where |rest| < 2^52, m is 0: x, sum
// and rest are integers, so that rest is off by less than 1 and hence by nothing. Where fl(r + (t - m)) = fl(r + (t + m)) = r,
// they all round to r to nearest, so that none reaches r's neighbours, and |t| > m says on which side of r they lie.
#pragma once

#include <cmath>
#include <cstdint>

#include "arith/accuracy/modes.hpp"
#include "arith/float_fields.hpp"
#include "arith/scale_entry.hpp"
#include "arith/wide/round_pieces.hpp"

namespace ozfp4 {

// What all entries have in common.
struct CertainRounding {
  std::int64_t is_directed, is_down, is_zero;
  double no_side;

  explicit CertainRounding(Rounding rounding)
      : is_directed(rounding != Rounding::nearest),
        is_down(rounding == Rounding::down),
        is_zero(rounding == Rounding::zero),
        no_side(is_directed != 0 ? 0.0 : -1.0) {}
};

// x rounded, times 2^exponent; `refused` is not 0 where not every number within the error rounds to the same bits. Range: the
// result and its neighbours are normal numbers, or x is 0.
inline double round_certain_one(const SumOfPieces& x, double error, std::int32_t exponent, const CertainRounding& how,
                                std::int64_t& refused) {
  const double r = x.sum + x.rest, t = x.rest - (r - x.sum);
  const double of_rest = std::fabs(x.rest);
  const double margin = error == 0.0 && of_rest < 0x1p52 ? 0.0 : error * (1.0 + 0x1p-20) + of_rest * 0x1p-48;
  const double low = r + (t - margin), high = r + (t + margin);
  const double side = how.is_directed != 0 ? margin : how.no_side;
  refused = static_cast<std::int64_t>(low != high) | static_cast<std::int64_t>(std::fabs(t) <= side);
  // One place towards zero or away from it; exponents are so far from the ends that neither leaves the normal numbers.
  const std::uint64_t bits = float_bits(r);
  const auto is_negative = static_cast<std::int64_t>(bits >> 63);
  const std::int64_t goes_down = how.is_down | (how.is_zero & (is_negative ^ 1));
  const auto is_below = static_cast<std::int64_t>(float_bits(t) >> 63);
  const std::int64_t is_moved = how.is_directed & (goes_down ^ is_below ^ 1);
  const std::int64_t step = is_moved - 2 * (is_moved & (is_negative ^ goes_down));
  const double moved = float_from_bits<double>(bits + static_cast<std::uint64_t>(step));
  return moved * exact_power_of_two<double>(exponent);
}

// The same to the nearest FP32 number. All numbers within the error lie between low and high, around the FP64 number r, which
// `sum` is not near where parts of either sign cancel: the margin has room for the roundings of both and of r, and for what
// x.rest is off by. Where these become the same number of single precision, so do all. Small results are refused, as in
// round_single. Range: x times 2^exponent is 0 or a normal FP64 number.
inline float round_certain_single(const SumOfPieces& x, double error, std::int32_t exponent, std::int64_t& refused) {
  const double power = exact_power_of_two<double>(exponent);
  const double r = x.sum + x.rest, margin = error * (1.0 + 0x1p-20) + std::fabs(r) * 0x1p-50;
  const double low = (r - margin) * power, high = (r + margin) * power;
  const auto lower = static_cast<float>(low), upper = static_cast<float>(high);
  const bool is_small = std::fabs(r) * power < 0x1p-124 && margin != 0.0;
  refused = static_cast<std::int64_t>(is_small) | static_cast<std::int64_t>(lower != upper);
  return upper;
}

}  // namespace ozfp4
