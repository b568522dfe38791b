#include "cpu/accuracy/lanes.hpp"

#include <algorithm>

#include "arith/update/near_update.hpp"
#include "arith/wide/round_pieces.hpp"
#include "cpu/accuracy/certain_lane.hpp"
#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

OZFP4_VECTORISED void put_parts(const std::uint32_t (*upper)[kLanes], int n, LaneParts& parts) {
  for (int i = 0; i < n; ++i) {
    parts.put(sum_parts({{upper[0][i], upper[1][i], upper[2][i], upper[3][i], upper[4][i]}}), i);
  }
}

template <class T>
inline void update_lanes_impl(LanePairs& pairs, const double* error, int n, const std::int32_t* exponent, double alpha,
                              double beta, const double* c, T* result) {
  for (int i = 0; i < n; ++i) {
    std::int64_t own = 0;
    result[i] = near_update<T>(pairs.sum[i], pairs.rest[i], error[i], exponent[i], alpha, beta, c[i], own);
    pairs.refused[i] |= own;
  }
}

bool is_outside(std::int32_t exponent) { return exponent < kLeastPieceExponent || exponent > kMostPieceExponent; }

SumOfPieces sum_at(const LaneParts& parts, int i) { return sum_of_parts({parts.top[i], parts.middle[i], parts.low[i]}); }

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

PairCut part_words(const LaneWords& x, int words, int n, int bits, LaneParts& parts) {
  const int cut = std::clamp((bits - kCertainBits + 32) / 32, 0, words - kUpperWords);
  put_parts(x.word + cut, n, parts);
  return {32 * cut, cut == 0 ? 0.0 : 1.0};
}

OZFP4_VECTORISED void pair_lanes(const LaneParts& parts, int n, LanePairs& pairs) {
  for (int i = 0; i < n; ++i) {
    const NearPair pair = near_pair(parts.top[i], parts.middle[i], parts.low[i]);
    pairs.sum[i] = pair.sum;
    pairs.rest[i] = pair.rest;
  }
}

OZFP4_VECTORISED void round_lanes(const LaneParts& parts, int n, const std::int32_t* exponent, double* result,
                                  std::int64_t* refused) {
  for (int i = 0; i < n; ++i) {
    refused[i] |= static_cast<std::int64_t>(is_outside(exponent[i]));
    result[i] = round_double(sum_at(parts, i), exponent[i]);
  }
}
OZFP4_VECTORISED void round_lanes(const LaneParts& parts, int n, const std::int32_t* exponent, float* result,
                                  std::int64_t* refused) {
  for (int i = 0; i < n; ++i) {
    std::int64_t own = 0;
    result[i] = round_single(sum_at(parts, i), exponent[i], own);
    refused[i] |= own | static_cast<std::int64_t>(is_outside(exponent[i]));
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
