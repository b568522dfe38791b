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

template <class T, int Words>
inline void round_certain_impl(const Columns<Words>& column, int n, const CrtProduct<Words>& product,
                               const std::int32_t* exponent, const double* error, Rounding rounding, T* result,
                               std::int64_t* refused) {
  const CertainRounding how(rounding);
  for (int i = 0; i < n; ++i) {
    std::uint64_t own[Words];
    for (int k = 0; k < Words; ++k) own[k] = column[k][i];
    bool is_uncertain = false;
    const SumOfPieces x = sum_of_pieces(wide_resize<5>(crt_without_correction(own, product, is_uncertain)));
    std::int64_t own_refused = 0;
    result[i] = round_one(x, error[i], exponent[i], how, own_refused, T());
    refused[i] = own_refused | static_cast<std::int64_t>(is_uncertain) | static_cast<std::int64_t>(is_outside(exponent[i]));
  }
}

template <class T>
inline void round_pairs_impl(const LanePairs& pairs, double loss, int n, const std::int32_t* exponent, const double* error,
                             Rounding rounding, T* result, std::int64_t* refused) {
  CertainRounding how(rounding);
  how.least_slack = 0x1p-48;  // an integer without error is not the pair itself
  for (int i = 0; i < n; ++i) {
    std::int64_t own_refused = 0;
    result[i] = round_one({pairs.sum[i], pairs.rest[i]}, error[i] + loss, exponent[i], how, own_refused, T());
    refused[i] = own_refused | pairs.refused[i] | static_cast<std::int64_t>(is_outside(exponent[i]));
  }
}

}  // namespace

OZFP4_VECTORISED void round_certain(const Columns<5>& column, int n, const CrtProduct<5>& product, const std::int32_t* exponent,
                                    const double* error, Rounding rounding, double* result, std::int64_t* refused) {
  round_certain_impl(column, n, product, exponent, error, rounding, result, refused);
}
OZFP4_VECTORISED void round_certain(const Columns<6>& column, int n, const CrtProduct<6>& product, const std::int32_t* exponent,
                                    const double* error, Rounding rounding, double* result, std::int64_t* refused) {
  round_certain_impl(column, n, product, exponent, error, rounding, result, refused);
}
OZFP4_VECTORISED void round_certain(const Columns<5>& column, int n, const CrtProduct<5>& product, const std::int32_t* exponent,
                                    const double* error, Rounding rounding, float* result, std::int64_t* refused) {
  round_certain_impl(column, n, product, exponent, error, rounding, result, refused);
}
OZFP4_VECTORISED void round_certain(const Columns<6>& column, int n, const CrtProduct<6>& product, const std::int32_t* exponent,
                                    const double* error, Rounding rounding, float* result, std::int64_t* refused) {
  round_certain_impl(column, n, product, exponent, error, rounding, result, refused);
}

OZFP4_VECTORISED void round_certain(const LanePairs& pairs, double loss, int n, const std::int32_t* exponent, const double* error,
                                    Rounding rounding, double* result, std::int64_t* refused) {
  round_pairs_impl(pairs, loss, n, exponent, error, rounding, result, refused);
}
OZFP4_VECTORISED void round_certain(const LanePairs& pairs, double loss, int n, const std::int32_t* exponent, const double* error,
                                    Rounding rounding, float* result, std::int64_t* refused) {
  round_pairs_impl(pairs, loss, n, exponent, error, rounding, result, refused);
}

}  // namespace ozfp4
