#include "cpu/crt/lanes.hpp"

#include <algorithm>
#include <cmath>

#include "arith/float_fields.hpp"
#include "arith/scale_entry.hpp"
#include "cpu/crt/near_update.hpp"
#include "cpu/crt/round_pieces.hpp"
#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

OZFP4_VECTORISED void pair_upper(const std::uint32_t (*upper)[kLanes], int n, LanePairs& pairs) {
  put_pairs(n, pairs,
            [&](int i, std::int64_t&) { return sum_parts({{upper[0][i], upper[1][i], upper[2][i], upper[3][i], upper[4][i]}}); });
}

template <class T>
inline void update_lanes_impl(LanePairs& pairs, const double* error, int n, const std::int32_t* exponent, double alpha,
                              double beta, const double* c, T* result) {
  for (int i = 0; i < n; ++i) {
    // The same sum, with a rest of no more than a rounding's error: so less is uncertain.
    const double sum = pairs.sum[i] + pairs.rest[i], rest = pairs.rest[i] - (sum - pairs.sum[i]);
    std::int64_t own = 0;
    result[i] = near_update<T>(sum, rest, error[i], exponent[i], alpha, beta, c[i], own);
    pairs.refused[i] |= own;
  }
}

// The rounding test of accuracy="correct" for one entry, so that loops over entries vectorise.
//
// Let x = sum + rest and r = fl(x). Then t = rest - (r - sum) is the distance of x from r, exact but for the error of rest, at
// most |rest| 2^-52, and |t| <= 2 |rest|. So x and all numbers within `error` of it lie in r + [t - m, t + m] with m >= error +
// |rest| 2^-48, which has room for the rounding of t +- m. Without an error, and where |rest| < 2^52, m is 0: x, sum and rest are
// integers, so that rest is off by less than 1 and hence by nothing. Where fl(r + (t - m)) = fl(r + (t + m)) = r, they all round
// to r to nearest. Then none reaches r's neighbours, and where |t| > m its sign is the side of r on which they lie.

// Facts that all entries share.
struct CertainRounding {
  std::int64_t is_directed, is_down, is_zero;
  double no_side;

  explicit CertainRounding(Rounding rounding)
      : is_directed(rounding != Rounding::nearest),
        is_down(rounding == Rounding::down),
        is_zero(rounding == Rounding::zero),
        no_side(is_directed != 0 ? 0.0 : -1.0) {}
};

// x rounded, times 2^exponent; `refused` is not 0 where not every number within the error rounds to the same bits. Precondition:
// the result and its neighbours are normal numbers, or x is 0.
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

// The same to the nearest FP32 number. All numbers within the error lie between low and high, around the FP64 number r, which is
// not near `sum` where parts of either sign cancel. The margin has room for the roundings of both and of r, and for the error of
// x.rest. Where these become the same number of single precision, so do all. Small results are refused, as in round_single.
// Precondition: x times 2^exponent is 0 or a normal FP64 number.
inline float round_certain_single(const SumOfPieces& x, double error, std::int32_t exponent, std::int64_t& refused) {
  const double power = exact_power_of_two<double>(exponent);
  const double r = x.sum + x.rest, margin = error * (1.0 + 0x1p-20) + std::fabs(r) * 0x1p-50;
  const double low = (r - margin) * power, high = (r + margin) * power;
  const auto lower = static_cast<float>(low), upper = static_cast<float>(high);
  const bool is_small = std::fabs(r) * power < 0x1p-124 && margin != 0.0;
  refused = static_cast<std::int64_t>(is_small) | static_cast<std::int64_t>(lower != upper);
  return upper;
}

bool is_outside(std::int32_t exponent) { return exponent < kLeastPieceExponent || exponent > kMostPieceExponent; }

double round_one(const SumOfPieces& x, double error, std::int32_t exponent, const CertainRounding& how, std::int64_t& refused,
                 double) {
  return round_certain_one(x, error, exponent, how, refused);
}
float round_one(const SumOfPieces& x, double error, std::int32_t exponent, const CertainRounding& how, std::int64_t& refused,
                float) {
  const float result = round_certain_single(x, error, exponent, refused);
  refused |= how.is_directed;
  return result;
}

template <class T>
inline void round_certain_impl(LanePairs& pairs, const double* error, int n, const std::int32_t* exponent, Rounding rounding,
                               T* result) {
  const CertainRounding how(rounding);
  for (int i = 0; i < n; ++i) {
    std::int64_t own_refused = 0;
    result[i] = round_one({pairs.sum[i], pairs.rest[i]}, error[i], exponent[i], how, own_refused, T());
    pairs.refused[i] |= own_refused | static_cast<std::int64_t>(is_outside(exponent[i]));
  }
}

}  // namespace

OZFP4_VECTORISED std::int64_t find_errors(const ErrorTerms& row, const LaneErrorTerms& columns, int n, double* error) {
  const double rounded = row.rounded, nonzeros = row.nonzeros, half = row.half;
  std::int64_t zeros = 0;
  for (int i = 0; i < n; ++i) {
    const double of_row = columns.rounded[i] < nonzeros ? columns.rounded[i] : nonzeros;
    const double of_column = rounded < columns.nonzeros[i] ? rounded : columns.nonzeros[i];
    const double own = of_row * half + of_column * columns.half[i];
    error[i] = own;
    zeros += own == 0.0 ? 1 : 0;
  }
  return zeros;
}

OZFP4_VECTORISED bool is_any(const std::int64_t* refused, int n) {
  std::int64_t any = 0;
  for (int i = 0; i < n; ++i) any |= refused[i];
  return any != 0;
}

PairCut pair_words(const LaneWords& x, int words, int n, int bits, LanePairs& pairs) {
  const int cut = std::clamp((bits - kCertainBits + 32) / 32, 0, words - kUpperWords);
  pair_upper(x.word + cut, n, pairs);
  return {32 * cut, cut == 0 ? 0.0 : 1.0};
}

OZFP4_VECTORISED void round_lanes(LanePairs& pairs, int n, const std::int32_t* exponent, double* result) {
  for (int i = 0; i < n; ++i) {
    pairs.refused[i] |= static_cast<std::int64_t>(is_outside(exponent[i]));
    result[i] = round_double({pairs.sum[i], pairs.rest[i]}, exponent[i]);
  }
}
OZFP4_VECTORISED void round_lanes(LanePairs& pairs, int n, const std::int32_t* exponent, float* result) {
  for (int i = 0; i < n; ++i) {
    std::int64_t own = 0;
    result[i] = round_single({pairs.sum[i], pairs.rest[i]}, exponent[i], own);
    pairs.refused[i] |= own | static_cast<std::int64_t>(is_outside(exponent[i]));
  }
}

OZFP4_VECTORISED void update_lanes(LanePairs& pairs, const double* error, int n, const std::int32_t* exponent, double alpha,
                                   double beta, const double* c, double* result) {
  update_lanes_impl(pairs, error, n, exponent, alpha, beta, c, result);
}
OZFP4_VECTORISED void update_lanes(LanePairs& pairs, const double* error, int n, const std::int32_t* exponent, double alpha,
                                   double beta, const double* c, float* result) {
  update_lanes_impl(pairs, error, n, exponent, alpha, beta, c, result);
}

OZFP4_VECTORISED void round_certain(LanePairs& pairs, const double* error, int n, const std::int32_t* exponent, Rounding rounding,
                                    double* result) {
  round_certain_impl(pairs, error, n, exponent, rounding, result);
}
OZFP4_VECTORISED void round_certain(LanePairs& pairs, const double* error, int n, const std::int32_t* exponent, Rounding rounding,
                                    float* result) {
  round_certain_impl(pairs, error, n, exponent, rounding, result);
}

}  // namespace ozfp4
