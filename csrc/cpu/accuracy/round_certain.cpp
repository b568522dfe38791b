#include "cpu/accuracy/round_certain.hpp"

#include <algorithm>

#include "arith/wide/round_pieces.hpp"
#include "cpu/accuracy/certain_lane.hpp"
#include "cpu/crt/lane_words.hpp"
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

// `word`: the upper five words of integers that have `cut` bits below them.
template <class T>
inline void round_words_impl(const std::uint32_t (*word)[kLanes], int cut, int n, const std::int32_t* exponent,
                             const double* error, Rounding rounding, T* result, std::int64_t* refused) {
  const CertainRounding how(rounding);
  const double power = exact_power_of_two<double>(-cut), rest = cut > 0 ? 1.0 : 0.0;
  for (int i = 0; i < n; ++i) {
    const WideInt<5> upper = {{word[0][i], word[1][i], word[2][i], word[3][i], word[4][i]}};
    const std::int32_t own_exponent = exponent[i] + cut;
    std::int64_t own_refused = 0;
    result[i] = round_one(sum_of_pieces(upper), error[i] * power + rest, own_exponent, how, own_refused, T());
    refused[i] |= own_refused | static_cast<std::int64_t>(is_outside(own_exponent));
  }
}

OZFP4_VECTORISED void round_words(const std::uint32_t (*word)[kLanes], int cut, int n, const std::int32_t* exponent,
                                  const double* error, Rounding rounding, double* result, std::int64_t* refused) {
  round_words_impl(word, cut, n, exponent, error, rounding, result, refused);
}
OZFP4_VECTORISED void round_words(const std::uint32_t (*word)[kLanes], int cut, int n, const std::int32_t* exponent,
                                  const double* error, Rounding rounding, float* result, std::int64_t* refused) {
  round_words_impl(word, cut, n, exponent, error, rounding, result, refused);
}

template <class T, int Words>
void round_long(const Columns<Words>& column, int n, const CrtProduct<Words>& product, int bits, const std::int32_t* exponent,
                const double* error, Rounding rounding, T* result, std::int64_t* refused) {
  LaneWords<Words> lanes;
  find_words(column, n, product, lanes);
  const int words = words_to_cut<Words>(bits);
  std::copy_n(lanes.refused, n, refused);
  round_words(lanes.word + words, 32 * words, n, exponent, error, rounding, result, refused);
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

#define OZFP4_ROUND_CERTAIN(Words)                                                                         \
  void round_certain(const Columns<Words>& column, int n, const CrtProduct<Words>& product, int bits,      \
                     const std::int32_t* exponent, const double* error, Rounding rounding, double* result, \
                     std::int64_t* refused) {                                                              \
    round_long(column, n, product, bits, exponent, error, rounding, result, refused);                      \
  }                                                                                                        \
  void round_certain(const Columns<Words>& column, int n, const CrtProduct<Words>& product, int bits,      \
                     const std::int32_t* exponent, const double* error, Rounding rounding, float* result,  \
                     std::int64_t* refused) {                                                              \
    round_long(column, n, product, bits, exponent, error, rounding, result, refused);                      \
  }
OZFP4_WORD_COUNTS(OZFP4_ROUND_CERTAIN)
#undef OZFP4_ROUND_CERTAIN

OZFP4_VECTORISED void round_certain(const LanePairs& pairs, double loss, int n, const std::int32_t* exponent, const double* error,
                                    Rounding rounding, double* result, std::int64_t* refused) {
  round_pairs_impl(pairs, loss, n, exponent, error, rounding, result, refused);
}
OZFP4_VECTORISED void round_certain(const LanePairs& pairs, double loss, int n, const std::int32_t* exponent, const double* error,
                                    Rounding rounding, float* result, std::int64_t* refused) {
  round_pairs_impl(pairs, loss, n, exponent, error, rounding, result, refused);
}

}  // namespace ozfp4
