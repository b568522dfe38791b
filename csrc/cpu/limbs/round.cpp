// Sixteen results lie in the 32-bit lanes of a vector. Carries go up from diagonal to diagonal until there are four words of 32
// bits and what is above; pairs of words make 64-bit lanes, and two of these the integer. It is shifted left until its leading
// bit, the highest that differs from the sign, is bit 62 of a window of 64 bits, and whatever is set below the window is or-ed
// into the window's last bit. That rounds to odd, of which the conversion to FP64 makes the one rounding to nearest
// (cpu/crt/round_bytes.cpp does the same of residues).
//
// Results have 53 bits, so that rounding changes where the ten bits below, and what follows, are 1 0 0 ... With f the 64 bits
// below a result's last one, that is 2^63. Below a power of two results lie twice as dense: within a quarter of the last place
// there is none of the places where these change, and so no other rounding within an error e of a number for which
//     e <= 2^62 and |f - 2^63| > e.
// The integer is off by less than 2^21 where it was shortened, which lost less than one in 2^95, and f by 1.
#include "cpu/limbs/round.hpp"

#include <stdexcept>

#include "arith/limbs/signed_bytes.hpp"
#include "cpu/runtime/matrix_view.hpp"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(OZFP4_NO_CLONES) && !defined(OZFP4_NO_AVX512_CLONES)
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC 11 and 12 warn of their own header's undefined values
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

#define OZFP4_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512cd,avx512vl,avx512vbmi2,bmi2")))
#define OZFP4_INLINE OZFP4_TARGET inline __attribute__((always_inline))

namespace ozfp4 {
namespace {

static_assert(kPanelLines == 16, "a row of a tile is one vector of sums, and two of results");
constexpr int kHalves = 2;  // of a row
constexpr std::int32_t kDoubleBias = 1023;
constexpr int kWords = 4;

// x = sum_i word[i] 2^(32 i) + above 2^128, all words but `above` without signs.
struct Row {
  __m512i word[kWords], above;
};

// Bytes are moved by shuffles, which have units of their own beside those of shifts. For each byte of a number where from, in
// each of four numbers: from nowhere, 0x80, is 0.
OZFP4_INLINE __m512i bytes_from(std::uint32_t of_first) {
  const __m512i in_four = _mm512_set4_epi32(0x0C0C0C0C, 0x08080808, 0x04040404, 0);
  return _mm512_or_si512(_mm512_set1_epi32(static_cast<int>(of_first)), in_four);
}

OZFP4_INLINE __m512i times_256(__m512i x) { return _mm512_shuffle_epi8(x, bytes_from(0x02010080)); }

// The lower `Bits` bits of one number, and above them as many of another; what is above these is anything of the first.
template <int Bits>
OZFP4_INLINE __m512i beside(__m512i low, __m512i high) {
  constexpr __mmask64 changed = Bits == 8 ? 0x2222222222222222u : 0xCCCCCCCCCCCCCCCCu;
  return _mm512_mask_shuffle_epi8(low, changed, high, bytes_from(Bits == 8 ? 0x00000000 : 0x01000000));
}

template <int Diagonals>
OZFP4_INLINE __m512i diagonal(const std::int32_t* row, int d) {
  return d < Diagonals ? _mm512_load_si512(row + d * kDiagonalSums) : _mm512_setzero_si512();
}

// The diagonal above those of the words, of nine limbs.
template <int Diagonals>
OZFP4_INLINE void add_last(const std::int32_t* row, Row& own) {
  static_assert(Diagonals <= 4 * kWords + 1);
  if (Diagonals > 4 * kWords) own.above = _mm512_add_epi32(own.above, diagonal<Diagonals>(row, 4 * kWords));
}

// Diagonals one after the other. Range: |D_d| <= 2^30.
template <int Diagonals>
OZFP4_INLINE void carry_singly(const std::int32_t* row, Row& own) {
  own.above = _mm512_setzero_si512();
#pragma GCC unroll 4
  for (int i = 0; i < kWords; ++i) {
    __m512i digit[4];
#pragma GCC unroll 4
    for (int h = 0; h < 4; ++h) {
      digit[h] = _mm512_add_epi32(own.above, diagonal<Diagonals>(row, 4 * i + h));
      own.above = _mm512_srai_epi32(digit[h], 8);
    }
    own.word[i] = beside<16>(beside<8>(digit[0], digit[1]), beside<8>(digit[2], digit[3]));
  }
  add_last<Diagonals>(row, own);
}

// Two diagonals as one number of 32 bits. Range: pairs_fit.
template <int Diagonals>
OZFP4_INLINE void carry_in_pairs(const std::int32_t* row, Row& own) {
  own.above = _mm512_setzero_si512();
#pragma GCC unroll 4
  for (int i = 0; i < kWords; ++i) {
    __m512i digit[2];
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) {
      const int d = 4 * i + 2 * h;
      const __m512i upper = times_256(diagonal<Diagonals>(row, d + 1));
      digit[h] = _mm512_add_epi32(_mm512_add_epi32(own.above, diagonal<Diagonals>(row, d)), upper);
      own.above = _mm512_srai_epi32(digit[h], 16);
    }
    own.word[i] = beside<16>(digit[0], digit[1]);
  }
  add_last<Diagonals>(row, own);
}

// 64-bit lanes as unpacking 32-bit ones leaves them: of 0 to 15 the first half has 0, 1, 4, 5 and so on, the second the others.
struct Halves {
  __m512i of[kHalves];
};
OZFP4_INLINE Halves unpack(__m512i low, __m512i high) {
  return {{_mm512_unpacklo_epi32(low, high), _mm512_unpackhi_epi32(low, high)}};
}
OZFP4_INLINE Halves widen(__m512i x) { return unpack(x, _mm512_srai_epi32(x, 31)); }

// Where the integer takes more than 128 bits its words without the lowest, of which the last bit keeps whether any bit was set.
OZFP4_INLINE void shorten(__mmask16 is_long, Row& own, Halves& scale) {
  const __mmask16 has_rest = _mm512_test_epi32_mask(own.word[0], own.word[0]);
  own.word[1] = _mm512_mask_or_epi32(own.word[1], is_long & has_rest, own.word[1], _mm512_set1_epi32(1));
  for (int i = 0; i < kWords; ++i)
    own.word[i] = _mm512_mask_mov_epi32(own.word[i], is_long, i + 1 < kWords ? own.word[i + 1] : own.above);
  const Halves more = widen(_mm512_maskz_set1_epi32(is_long, 32));
  for (int h = 0; h < kHalves; ++h) scale.of[h] = _mm512_add_epi64(scale.of[h], more.of[h]);
}

// The magnitude, less one where the number is negative.
OZFP4_INLINE __m512i without_sign(__m512i x) { return _mm512_xor_si512(x, _mm512_srai_epi64(x, 63)); }

// Where the upper word only repeats the sign of the lower one the number is that.
OZFP4_INLINE void lengthen(__m512i& low, __m512i& high, __m512i& scale) {
  const __mmask8 is_short = _mm512_cmpeq_epi64_mask(high, _mm512_srai_epi64(low, 63));
  high = _mm512_mask_mov_epi64(high, is_short, low);
  low = _mm512_mask_mov_epi64(low, is_short, _mm512_setzero_si512());
  scale = _mm512_mask_sub_epi64(scale, is_short, scale, _mm512_set1_epi64(64));
}

// min(|f - 2^63|, 2^62) less what f may be off by, in places of the number that has the last one of `window` at `power`, times
// 2^54.
OZFP4_INLINE __m512d distance_of(__m512i window, __m512i rest, __m512d power) {
  const __m512i sign = _mm512_slli_epi64(_mm512_set1_epi64(1), 63);
  const __m512i magnitude = _mm512_abs_epi64(_mm512_xor_si512(_mm512_shldi_epi64(window, rest, 54), sign));
  const __m512i least = _mm512_min_epu64(magnitude, _mm512_set1_epi64(std::int64_t(1) << 62));
  return _mm512_mul_pd(_mm512_cvtepi64_pd(_mm512_sub_epi64(least, _mm512_set1_epi64(1 << 23))), power);
}

// (2^64 high + low) 2^(scale - 64 - kDoubleBias), and where it `Tests` the distance of that. Range: |2^64 high + low| < 2^127, as
// lengthen leaves it; 64 <= scale <= 2046; the result is 0 or a normal number.
template <bool Tests>
OZFP4_INLINE __m512d round_eight(__m512i low, __m512i high, __m512i scale, __m512d& distance) {
  const __m512i one = _mm512_set1_epi64(1), shift = _mm512_sub_epi64(_mm512_lzcnt_epi64(without_sign(high)), one);
  const __m512i window = _mm512_shldv_epi64(high, low, shift), rest = _mm512_sllv_epi64(low, shift);
  const __m512i odd = _mm512_mask_or_epi64(window, _mm512_test_epi64_mask(rest, rest), window, one);
  const __m512d power = _mm512_castsi512_pd(_mm512_slli_epi64(_mm512_sub_epi64(scale, shift), 52));
  if constexpr (Tests) distance = distance_of(window, rest, power);
  return _mm512_mul_pd(_mm512_cvtepi64_pd(odd), power);
}

// Where a row of results goes.
class Line {
 public:
  OZFP4_INLINE explicit Line(const RoundedTile& tile)
      : stride_(tile.column_stride), columns_(tile.columns), is_dense_(stride_ == sizeof(double)) {
    const unsigned ones = (1u << tile.columns) - 1;
    left_ = static_cast<__mmask8>(ones & 0xFF), right_ = static_cast<__mmask8>(ones >> 8);
  }

  OZFP4_INLINE void store(char* to, __m512d left, __m512d right) const {
    if (is_dense_) {
      _mm512_mask_storeu_pd(to, left_, left);
      _mm512_mask_storeu_pd(to + sizeof left, right_, right);
      return;
    }
    alignas(64) double values[kPanelLines];
    _mm512_store_pd(values, left);
    _mm512_store_pd(values + 8, right);
    store_line(to, stride_, values, columns_);
  }

 private:
  std::ptrdiff_t stride_;
  std::int64_t columns_;
  bool is_dense_;
  __mmask8 left_, right_;
};

// The errors of results, times 2^54 and what covers all roundings of them and of distances, in the order of Halves.
class Errors {
 public:
  OZFP4_INLINE Errors(const LineErrors& rows, const LineErrors& columns, __mmask16 present) : rows_(rows) {
    load(columns.rounded, present, rounded_);
    load(columns.nonzeros, present, nonzeros_);
    load(columns.half, present, half_);
    load(columns.power, present, power_);
    for (int h = 0; h < kHalves; ++h) {
      rounded_[h] = _mm512_mul_pd(rounded_[h], _mm512_set1_pd(factor));
      nonzeros_[h] = _mm512_mul_pd(nonzeros_[h], _mm512_set1_pd(factor));
    }
  }

  // Of eight results.
  OZFP4_INLINE __m512d of(std::int64_t row, int h) const {
    const __m512d of_row = _mm512_min_pd(rounded_[h], _mm512_set1_pd(rows_.nonzeros[row] * factor));
    const __m512d of_column = _mm512_min_pd(nonzeros_[h], _mm512_set1_pd(rows_.rounded[row] * factor));
    const __m512d first = _mm512_mul_pd(of_row, _mm512_mul_pd(_mm512_set1_pd(rows_.half[row]), power_[h]));
    return _mm512_fmadd_pd(of_column, _mm512_mul_pd(half_[h], _mm512_set1_pd(rows_.power[row])), first);
  }

 private:
  static constexpr double factor = 0x1p54 * (1.0 + 0x1p-20);

  OZFP4_INLINE static void load(const double* from, __mmask16 present, __m512d (&to)[kHalves]) {
    const __m512d left = _mm512_maskz_loadu_pd(static_cast<__mmask8>(present & 0xFF), from);
    const __m512d right = _mm512_maskz_loadu_pd(static_cast<__mmask8>(present >> 8), from + 8);
    to[0] = _mm512_permutex2var_pd(left, _mm512_setr_epi64(0, 1, 4, 5, 8, 9, 12, 13), right);
    to[1] = _mm512_permutex2var_pd(left, _mm512_setr_epi64(2, 3, 6, 7, 10, 11, 14, 15), right);
  }

  const LineErrors& rows_;
  __m512d rounded_[kHalves], nonzeros_[kHalves], half_[kHalves], power_[kHalves];
};

// Bits of both halves, back in order.
OZFP4_INLINE std::uint16_t in_order(const __mmask8 (&of)[kHalves]) {
  return static_cast<std::uint16_t>(_pdep_u32(of[0], 0x3333) | _pdep_u32(of[1], 0xCCCC));
}

// `errors` and `found`: only where it `Tests`.
template <int Limbs, bool Pairs, bool Tests>
OZFP4_TARGET void round_tile(const std::int32_t* sums, const RoundedTile& tile, const Errors* errors, CertainEntries* found) {
  constexpr int diagonals = diagonals_of(Limbs);
  // Of fewer limbs no integer takes more than 128 bits.
  constexpr bool may_be_long = 2 * byte_limb_bits(Limbs) + 12 >= 127;
  // Halves, back in order.
  const __m512i left = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), right = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  const auto columns = static_cast<__mmask16>((1u << tile.columns) - 1);
  const __m512i shifts = _mm512_maskz_loadu_epi32(columns, tile.column_shift);
  const Halves of_columns = widen(_mm512_sub_epi32(_mm512_set1_epi32(kDoubleBias + 64), shifts));
  const Line line(tile);
  const std::int32_t* row_shift = tile.row_shift;
  char* to = tile.data;
  for (std::int64_t row = 0, rows = tile.rows, step = tile.row_stride; row < rows; ++row, to += step) {
    Row own;
    if constexpr (Pairs)
      carry_in_pairs<diagonals>(sums + row * kPanelLines, own);
    else
      carry_singly<diagonals>(sums + row * kPanelLines, own);
    const __m512i of_row = _mm512_set1_epi64(row_shift[row]);
    Halves scale{{_mm512_sub_epi64(of_columns.of[0], of_row), _mm512_sub_epi64(of_columns.of[1], of_row)}};
    if constexpr (may_be_long) {
      const __mmask16 is_long = _mm512_cmpneq_epi32_mask(own.above, _mm512_srai_epi32(own.word[3], 31));
      if (__builtin_expect(is_long != 0, 0)) shorten(is_long, own, scale);
    }
    Halves low = unpack(own.word[0], own.word[1]), high = unpack(own.word[2], own.word[3]);
    // The upper words of short ones, which are rare or nearly all of them.
    const __m512i upper[] = {without_sign(high.of[0]), without_sign(high.of[1])};
    if (__builtin_expect((_mm512_testn_epi64_mask(upper[0], upper[0]) | _mm512_testn_epi64_mask(upper[1], upper[1])) != 0, 0)) {
      for (int h = 0; h < kHalves; ++h) lengthen(low.of[h], high.of[h], scale.of[h]);
    }
    __m512d distance[kHalves];
    const __m512d first = round_eight<Tests>(low.of[0], high.of[0], scale.of[0], distance[0]);
    const __m512d second = round_eight<Tests>(low.of[1], high.of[1], scale.of[1], distance[1]);
    if constexpr (Tests) {
      __mmask8 exact[kHalves], uncertain[kHalves];
      for (int h = 0; h < kHalves; ++h) {
        const __m512d error = errors->of(row, h);
        exact[h] = _mm512_cmp_pd_mask(error, _mm512_setzero_pd(), _CMP_EQ_OQ);
        uncertain[h] = static_cast<__mmask8>(_mm512_cmp_pd_mask(distance[h], error, _CMP_NGT_UQ) & ~exact[h]);
      }
      found->exact[row] = in_order(exact), found->uncertain[row] = in_order(uncertain);
    }
    line.store(to, _mm512_permutex2var_pd(first, left, second), _mm512_permutex2var_pd(first, right, second));
  }
}

template <int Limbs, bool Tests>
void round_any(const std::int32_t* sums, std::int64_t inner, const RoundedTile& tile, const Errors* errors,
               CertainEntries* found) {
  const auto round = pairs_fit(Limbs, inner) ? round_tile<Limbs, true, Tests> : round_tile<Limbs, false, Tests>;
  round(sums, tile, errors, found);
}

template <bool Tests>
void round_limbs(const std::int32_t* sums, int limbs, std::int64_t inner, const RoundedTile& tile, const Errors* errors,
                 CertainEntries* found) {
  switch (limbs) {
    case 4: return round_any<4, Tests>(sums, inner, tile, errors, found);
    case 7: return round_any<7, Tests>(sums, inner, tile, errors, found);
    case 8: return round_any<8, Tests>(sums, inner, tile, errors, found);
    default: return round_any<9, Tests>(sums, inner, tile, errors, found);
  }
}

}  // namespace

bool can_round_diagonals() {
  static const bool can = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd") &&
                          __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi2") &&
                          __builtin_cpu_supports("bmi2");
  return can;
}

void round_diagonals(const std::int32_t* sums, int limbs, std::int64_t inner, const RoundedTile& tile) {
  round_limbs<false>(sums, limbs, inner, tile, nullptr, nullptr);
}

OZFP4_TARGET void round_diagonals_certain(const std::int32_t* sums, int limbs, std::int64_t inner, const RoundedTile& tile,
                                          const LineErrors& rows, const LineErrors& columns, CertainEntries& found) {
  const Errors errors(rows, columns, static_cast<__mmask16>((1u << tile.columns) - 1));
  round_limbs<true>(sums, limbs, inner, tile, &errors, &found);
}

}  // namespace ozfp4

#else

namespace ozfp4 {

bool can_round_diagonals() { return false; }

void round_diagonals(const std::int32_t*, int, std::int64_t, const RoundedTile&) {
  throw std::logic_error("round_diagonals: this build has no instructions for it");
}

void round_diagonals_certain(const std::int32_t*, int, std::int64_t, const RoundedTile&, const LineErrors&, const LineErrors&,
                             CertainEntries&) {
  throw std::logic_error("round_diagonals_certain: this build has no instructions for it");
}

}  // namespace ozfp4

#endif
