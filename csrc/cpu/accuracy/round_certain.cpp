#include "cpu/accuracy/round_certain.hpp"

#include "arith/wide/round_pieces.hpp"
#include "cpu/accuracy/certain_lane.hpp"
#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

bool is_outside(std::int32_t exponent) { return exponent <= kLeastPieceExponent || exponent > kMostPieceExponent; }

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

OZFP4_VECTORISED void round_certain(LanePairs& pairs, const double* error, int n, const std::int32_t* exponent, Rounding rounding,
                                    double* result) {
  round_certain_impl(pairs, error, n, exponent, rounding, result);
}
OZFP4_VECTORISED void round_certain(LanePairs& pairs, const double* error, int n, const std::int32_t* exponent, Rounding rounding,
                                    float* result) {
  round_certain_impl(pairs, error, n, exponent, rounding, result);
}

}  // namespace ozfp4
