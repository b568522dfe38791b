#include "cpu/accuracy/update_lanes.hpp"

#include "arith/update/near_update.hpp"
#include "arith/wide/round_pieces.hpp"
#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

template <int Words>
inline void pair_lanes_impl(const Columns<Words>& column, int n, const CrtProduct<Words>& product, LanePairs& pairs) {
  for (int i = 0; i < n; ++i) {
    std::uint64_t own[Words];
    for (int k = 0; k < Words; ++k) own[k] = column[k][i];
    bool is_uncertain = false;
    const ThreePieces x = three_pieces(wide_resize<5>(crt_without_correction(own, product, is_uncertain)));
    const NearPair pair = near_pair(x.high, x.middle, x.low);
    pairs.sum[i] = pair.sum;
    pairs.rest[i] = pair.rest;
    pairs.refused[i] = static_cast<std::int64_t>(is_uncertain);
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

}  // namespace

OZFP4_VECTORISED void pair_lanes(const Columns<5>& column, int n, const CrtProduct<5>& product, LanePairs& pairs) {
  pair_lanes_impl(column, n, product, pairs);
}
OZFP4_VECTORISED void pair_lanes(const Columns<6>& column, int n, const CrtProduct<6>& product, LanePairs& pairs) {
  pair_lanes_impl(column, n, product, pairs);
}

OZFP4_VECTORISED void pair_words(const std::uint32_t (*word)[kLanes], int n, LanePairs& pairs) {
  for (int i = 0; i < n; ++i) {
    const ThreePieces x = three_pieces({{word[0][i], word[1][i], word[2][i], word[3][i], word[4][i]}});
    const NearPair pair = near_pair(x.high, x.middle, x.low);
    pairs.sum[i] = pair.sum;
    pairs.rest[i] = pair.rest;
  }
}

OZFP4_VECTORISED void pair_lanes(const double* high, const double* middle, const double* low, int n, LanePairs& pairs) {
  for (int i = 0; i < n; ++i) {
    const NearPair pair = near_pair(high[i], middle[i], low[i]);
    pairs.sum[i] = pair.sum;
    pairs.rest[i] = pair.rest;
    pairs.refused[i] = 0;
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

}  // namespace ozfp4
