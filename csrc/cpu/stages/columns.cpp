#include "cpu/stages/columns.hpp"

#include "arith/wide/round_pieces.hpp"
#include "arith/wide/round_wide.hpp"
#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

template <int Words, class Residue>
inline void add_columns_impl(const Residue* residues, int n, const WideInt<Words>& weight, Columns<Words>& column) {
  for (int k = 0; k < Words; ++k) {
    const std::uint64_t w = weight.word[k];
    for (int i = 0; i < n; ++i) column[k][i] += residues[i] * w;
  }
}

template <class T, int Words>
inline void round_columns_impl(const Columns<Words>& column, int n, const CrtProduct<Words>& product,
                               const std::int32_t* exponent, T* result) {
  for (int i = 0; i < n; ++i) result[i] = round_scaled<T>(integer_of_lane(column, i, product), exponent[i]);
}

template <class T>
inline bool round_columns_fast_impl(const Columns<5>& column, int n, const CrtProduct<5>& product, const std::int32_t* exponent,
                                    T* result) {
  std::int64_t refused = 0;  // as wide as what the loop computes, so that it vectorises
  for (int i = 0; i < n; ++i) {
    const std::uint64_t own[5] = {column[0][i], column[1][i], column[2][i], column[3][i], column[4][i]};
    bool is_uncertain = false;
    const WideInt<5> x = crt_without_correction(own, product, is_uncertain);
    const bool is_out = exponent[i] < kLeastPieceExponent || exponent[i] > kMostPieceExponent;
    std::int64_t is_small = 0;
    result[i] = round_pieces<T>(three_pieces(x), exponent[i], is_small);
    refused |= static_cast<std::int64_t>(is_uncertain) | static_cast<std::int64_t>(is_out) | is_small;
  }
  return refused == 0;
}

}  // namespace

OZFP4_VECTORISED bool round_columns_fast(const Columns<5>& column, int n, const CrtProduct<5>& product,
                                         const std::int32_t* exponent, double* result) {
  return round_columns_fast_impl(column, n, product, exponent, result);
}
OZFP4_VECTORISED bool round_columns_fast(const Columns<5>& column, int n, const CrtProduct<5>& product,
                                         const std::int32_t* exponent, float* result) {
  return round_columns_fast_impl(column, n, product, exponent, result);
}

#define OZFP4_ROUND_COLUMNS(T, Words)                                                                        \
  OZFP4_VECTORISED void round_columns(const Columns<Words>& column, int n, const CrtProduct<Words>& product, \
                                      const std::int32_t* exponent, T* result) {                             \
    round_columns_impl(column, n, product, exponent, result);                                                \
  }
#define OZFP4_ADD_COLUMNS(Residue, Words)                                                                                   \
  OZFP4_VECTORISED void add_columns(const Residue* residues, int n, const WideInt<Words>& weight, Columns<Words>& column) { \
    add_columns_impl(residues, n, weight, column);                                                                          \
  }
#define OZFP4_LOOPS(Words)               \
  OZFP4_ROUND_COLUMNS(double, Words)     \
  OZFP4_ROUND_COLUMNS(float, Words)      \
  OZFP4_ADD_COLUMNS(std::uint8_t, Words) \
  OZFP4_ADD_COLUMNS(std::uint32_t, Words)
OZFP4_WORD_COUNTS(OZFP4_LOOPS)
#undef OZFP4_LOOPS
#undef OZFP4_ROUND_COLUMNS
#undef OZFP4_ADD_COLUMNS

}  // namespace ozfp4
