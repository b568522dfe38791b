// Sixteen results lie in the 32-bit lanes of a vector. Carries go up from diagonal to diagonal until there are four words of 32
// bits and the rest above. Pairs of words make 64-bit lanes, and two of these the integer that cpu/crt/round_odd.hpp rounds.
//
// Results have 53 bits, so that rounding changes where the ten bits below, and what follows, are 1 0 0 ... With f the 64 bits
// below a result's last one, that is 2^63. Below a power of two results lie twice as dense: within a quarter of the last place
// there is none of the places where these change. So there is no other rounding within an error e of a number for which
//     e <= 2^62 and |f - 2^63| > e.
// The integer is off by less than 2^21 where it was shortened, which lost less than one in 2^95, and f by 1.
//
// Where only the upper diagonals are there e is what the lower ones come to, or that and the error. In f it is the more the
// further the integer was shifted: most_of_lower 2^(shift - 10).
#include "cpu/limbs/round.hpp"

#include <cmath>

#include "arith/limbs/signed_bytes.hpp"
#include "cpu/runtime/avx512.hpp"

#define OZFP4_TARGET OZFP4_AVX512_BYTES
#include "cpu/crt/round_odd.hpp"

namespace ozfp4 {

bool can_round_diagonals() { return has_avx512_bytes(); }

#if OZFP4_HAS_AVX512
namespace {

static_assert(kPanelLines == 16, "a row of a tile is one vector of sums, and two of results");
constexpr int kHalves = 2;  // of a row
constexpr int kWords = 4;

// x = sum_i word[i] 2^(32 i) + above 2^128, all words but `above` without signs.
struct Row {
  __m512i word[kWords], above;
};

// Bytes are moved by shuffles, which have units apart from those of shifts. For each byte of a number where from, in each of four
// numbers: from nowhere, 0x80, is 0.
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

OZFP4_INLINE __m512i diagonal(const std::int32_t* row, int d) { return _mm512_load_si512(row + d * kDiagonalSums); }

// Diagonals one after the other, each less than 2^30; or, where pairs_fit, two of them as one number of 32 bits.
template <int Count, bool Pairs>
OZFP4_INLINE void carry(const std::int32_t* row, Row& own) {
  constexpr int together = Pairs ? 2 : 1, digits = 4 / together;
  own.above = _mm512_setzero_si512();
#pragma GCC unroll 4
  for (int i = 0; i < kWords; ++i) {
    if (4 * i >= Count) {
      own.word[i] = own.above;
      own.above = _mm512_srai_epi32(own.above, 31);
      continue;
    }
    __m512i digit[digits];
#pragma GCC unroll 4
    for (int h = 0; h < digits; ++h) {
      const int d = 4 * i + together * h;
      digit[h] = d < Count ? _mm512_add_epi32(own.above, diagonal(row, d)) : own.above;
      if (Pairs && d + 1 < Count) digit[h] = _mm512_add_epi32(digit[h], times_256(diagonal(row, d + 1)));
      own.above = _mm512_srai_epi32(digit[h], 8 * together);
    }
    if constexpr (Pairs)
      own.word[i] = beside<16>(digit[0], digit[1]);
    else
      own.word[i] = beside<16>(beside<8>(digit[0], digit[1]), beside<8>(digit[2], digit[3]));
  }
  static_assert(Count <= 4 * kWords + 1, "above the words there is one diagonal at most, that of nine limbs");
  if (Count > 4 * kWords) own.above = _mm512_add_epi32(own.above, diagonal(row, 4 * kWords));
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

// The tests of a number. Nothing; whether the lower diagonals may matter to it; whether its error, or that and the lower
// diagonals, may.
enum class Test { none, lower, error, both };
constexpr bool is_upper(Test test) { return test == Test::lower || test == Test::both; }
constexpr bool has_errors(Test test) { return test == Test::error || test == Test::both; }

// f - 2^63, of an f that may be 1 too small.
OZFP4_INLINE __m512i from_tie(const Window& x) {
  return _mm512_xor_si512(_mm512_shldi_epi64(x.window, x.rest, 54), _mm512_slli_epi64(_mm512_set1_epi64(1), 63));
}

// min(|f - 2^63|, 2^62).
OZFP4_INLINE __m512i distance_of(const Window& x) {
  return _mm512_min_epu64(_mm512_abs_epi64(from_tie(x)), _mm512_set1_epi64(std::int64_t(1) << 62));
}

// The distance, less what f may be off by, in places of the number times 2^54.
OZFP4_INLINE __m512d least_distance(const Window& x) {
  const __m512i less = _mm512_sub_epi64(distance_of(x), _mm512_set1_epi64(1 << 23));
  return _mm512_mul_pd(_mm512_cvtepi64_pd(less), x.power);
}

// Whether a tie is within twice what the lower diagonals come to, or nearly that: then that is below 2^62 where none is.
// `most`: twice most_of_lower / 1024 + 2, whole ones of f 2^-shift.
OZFP4_INLINE __mmask8 is_near(const Window& x, __m512i most) {
  const __m512i units = _mm512_srav_epi64(from_tie(x), x.shift);
  return _mm512_cmple_epu64_mask(_mm512_add_epi64(units, most), _mm512_add_epi64(most, most));
}

// Whether the tie is within the error whatever the lower diagonals are. `error` may be more by one in 2^19.
OZFP4_INLINE __mmask8 is_within(const Window& x, __m512d error, __m512d lower) {
  const __m512i least = distance_of(x);
  const __mmask8 is_known = _mm512_cmplt_epu64_mask(least, _mm512_set1_epi64(std::int64_t(1) << 62));
  const __m512d most = _mm512_mul_pd(_mm512_cvtepi64_pd(_mm512_add_epi64(least, _mm512_set1_epi64(1 << 24))), x.power);
  const __m512d inner = _mm512_fmsub_pd(error, _mm512_set1_pd(1.0 - 0x1p-18), lower);
  return _mm512_mask_cmp_pd_mask(is_known, most, inner, _CMP_LE_OQ);
}

// Where a row of results goes.
class Line {
 public:
  OZFP4_INLINE explicit Line(const RoundedTile& tile)
      : stride_(tile.result.column_stride), columns_(tile.result.columns), is_dense_(stride_ == sizeof(double)) {
    const unsigned ones = (1u << tile.result.columns) - 1;
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

// The errors of results, times 2^54 and what covers all roundings of them and of distances, in the order of Halves. `lower`: the
// integer that lower diagonals, which are not there, come to at most.
class Errors {
 public:
  OZFP4_INLINE Errors(const LineErrors& rows, const LineErrors& columns, __mmask16 present, double lower)
      : rows_(rows), lower_(lower * factor) {
    load(columns.rounded, present, rounded_);
    load(columns.nonzeros, present, nonzeros_);
    load(columns.half, present, half_);
    load(columns.power, present, power_);
    if (lower > 0.0) load(columns.raised_power, present, raised_power_);
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

  // The size of the lower diagonals.
  OZFP4_INLINE __m512d of_lower(std::int64_t row, int h) const {
    return _mm512_mul_pd(_mm512_set1_pd(rows_.raised_power[row] * lower_), raised_power_[h]);
  }

 private:
  static constexpr double factor = 0x1p54 * (1.0 + 0x1p-20);

  OZFP4_INLINE static void load(const double* from, __mmask16 present, __m512d (&to)[kHalves]) {
    const __m512d left = _mm512_maskz_loadu_pd(static_cast<__mmask8>(present & 0xFF), from);
    const __m512d right = _mm512_maskz_loadu_pd(static_cast<__mmask8>(present >> 8), from + 8);
    to[0] = _mm512_permutex2var_pd(left, _mm512_setr_epi64(0, 1, 4, 5, 8, 9, 12, 13), right);
    to[1] = _mm512_permutex2var_pd(left, _mm512_setr_epi64(2, 3, 6, 7, 10, 11, 14, 15), right);
  }

  const LineErrors rows_;
  double lower_;
  __m512d rounded_[kHalves], nonzeros_[kHalves], half_[kHalves], power_[kHalves], raised_power_[kHalves];
};

// Bits of both halves, back in order.
OZFP4_INLINE std::uint16_t in_order(const __mmask8 (&of)[kHalves]) {
  return static_cast<std::uint16_t>(_pdep_u32(of[0], 0x3333) | _pdep_u32(of[1], 0xCCCC));
}

// Whether all results are certain where only the lower diagonals are asked about. `errors` and `found`: only with errors.
template <int Count, bool Pairs, Test test>
OZFP4_TARGET bool round_tile(const TileSums& sums, const RoundedTile& tile, const Errors* errors, CertainEntries* found) {
  // The first diagonal's place; of fewer limbs, and of the upper diagonals, no integer takes more than 128 bits.
  const int lower = is_upper(test) ? lower_diagonals(sums.limbs) : 0;
  constexpr bool may_be_long = !is_upper(test) && 2 * byte_limb_bits((Count + 1) / 2) + 12 >= 127;
  static_assert(8 * (kUpperDiagonals - 1) + 31 < 127);
  const std::int32_t* from = sums.sums + lower * kDiagonalSums;
  const __m512i most_units = _mm512_set1_epi64(2 * (most_of_lower(sums.limbs, sums.inner) / 1024 + 2));
  // Halves, back in order.
  const __m512i left = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), right = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  const auto columns = static_cast<__mmask16>((1u << tile.result.columns) - 1);
  const __m512i shifts = _mm512_maskz_loadu_epi32(columns, tile.column_shift);
  const Halves of_columns = widen(_mm512_sub_epi32(_mm512_set1_epi32(kDoubleBias + 64 + 8 * lower), shifts));
  const Line line(tile);
  const std::int32_t* row_shift = tile.row_shift;
  char* to = tile.result.data;
  unsigned doubts[kHalves] = {};
  for (std::int64_t row = 0, rows = tile.result.rows, step = tile.result.row_stride; row < rows; ++row, to += step) {
    Row own;
    carry<Count, Pairs>(from + row * kPanelLines, own);
    const __m512i of_row = _mm512_set1_epi64(row_shift[row]);
    Halves scale{{_mm512_sub_epi64(of_columns.of[0], of_row), _mm512_sub_epi64(of_columns.of[1], of_row)}};
    if constexpr (may_be_long) {
      const __mmask16 is_long = _mm512_cmpneq_epi32_mask(own.above, _mm512_srai_epi32(own.word[3], 31));
      if (__builtin_expect(is_long != 0, 0)) shorten(is_long, own, scale);
    }
    Halves low = unpack(own.word[0], own.word[1]), high = unpack(own.word[2], own.word[3]);
    // The upper words of short ones, which are rare or nearly all of them.
    __m512i leading[] = {without_sign(high.of[0]), without_sign(high.of[1])};
    const __mmask8 is_short[] = {_mm512_testn_epi64_mask(leading[0], leading[0]),
                                 _mm512_testn_epi64_mask(leading[1], leading[1])};
    if (__builtin_expect(!_kortestz_mask8_u8(is_short[0], is_short[1]), 0)) {
      // To these the lower diagonals matter, or nearly.
      for (int h = 0; h < kHalves; ++h) {
        doubts[h] |= lengthen(low.of[h], high.of[h], scale.of[h]);
        leading[h] = without_sign(high.of[h]);
      }
    }
    // 64 <= scale <= 2046, and results are 0 or normal numbers.
    const Window windows[] = {Window(low.of[0], high.of[0], leading[0], scale.of[0]),
                              Window(low.of[1], high.of[1], leading[1], scale.of[1])};
    const __m512d first = windows[0].to_double(), second = windows[1].to_double();
    if constexpr (has_errors(test)) {
      __mmask8 exact[kHalves], uncertain[kHalves];
      __m512d error[kHalves];
      for (int h = 0; h < kHalves; ++h) {
        error[h] = errors->of(row, h);
        exact[h] = _mm512_cmp_pd_mask(error[h], _mm512_setzero_pd(), _CMP_EQ_OQ);
        const __m512d most = is_upper(test) ? _mm512_add_pd(error[h], errors->of_lower(row, h)) : error[h];
        uncertain[h] = _mm512_cmp_pd_mask(least_distance(windows[h]), most, _CMP_NGT_UQ);
        if constexpr (!is_upper(test)) uncertain[h] = static_cast<__mmask8>(uncertain[h] & ~exact[h]);
      }
      found->exact[row] = in_order(exact), found->uncertain[row] = in_order(uncertain);
      if constexpr (is_upper(test)) {
        found->undecided[row] = found->uncertain[row];
        if (__builtin_expect((uncertain[0] | uncertain[1]) != 0, 0)) {
          for (int h = 0; h < kHalves; ++h) {
            const __mmask8 within = is_within(windows[h], error[h], errors->of_lower(row, h));
            uncertain[h] = static_cast<__mmask8>(uncertain[h] & ~within);
          }
          found->undecided[row] = in_order(uncertain);
        }
      }
    } else if constexpr (test == Test::lower) {
      for (int h = 0; h < kHalves; ++h) doubts[h] |= is_near(windows[h], most_units);
    }
    line.store(to, _mm512_permutex2var_pd(first, left, second), _mm512_permutex2var_pd(first, right, second));
  }
  const __mmask8 all[kHalves] = {static_cast<__mmask8>(doubts[0]), static_cast<__mmask8>(doubts[1])};
  return !is_upper(test) || (in_order(all) & columns) == 0;
}

template <int Count, Test test>
bool round_any(const TileSums& sums, const RoundedTile& tile, const Errors* errors, CertainEntries* found) {
  const bool pairs = pairs_fit(sums.limbs, sums.inner);
  const auto round = pairs ? round_tile<Count, true, test> : round_tile<Count, false, test>;
  return round(sums, tile, errors, found);
}

// With one test from all diagonals, another one from the upper ones.
template <Test of_all, Test of_upper>
bool round_all(const TileSums& sums, const RoundedTile& tile, const Errors* errors, CertainEntries* found) {
  if (sums.diagonals == Diagonals::upper) return round_any<kUpperDiagonals, of_upper>(sums, tile, errors, found);
  switch (sums.limbs) {
    case 4: return round_any<diagonals_of(4), of_all>(sums, tile, errors, found);
    case 7: return round_any<diagonals_of(7), of_all>(sums, tile, errors, found);
    case 8: return round_any<diagonals_of(8), of_all>(sums, tile, errors, found);
    default: return round_any<diagonals_of(9), of_all>(sums, tile, errors, found);
  }
}

}  // namespace

bool round_diagonals(const TileSums& sums, const RoundedTile& tile) {
  return round_all<Test::none, Test::lower>(sums, tile, nullptr, nullptr);
}

OZFP4_TARGET void round_diagonals_certain(const TileSums& sums, const RoundedTile& tile, const LineErrors& rows,
                                          const LineErrors& columns, CertainEntries& found) {
  const bool is_all = sums.diagonals == Diagonals::all;
  const auto most = static_cast<double>(most_of_lower(sums.limbs, sums.inner));
  const double lower = is_all ? 0.0 : std::ldexp(most, 8 * lower_diagonals(sums.limbs));
  const Errors errors(rows, columns, static_cast<__mmask16>((1u << tile.result.columns) - 1), lower);
  round_all<Test::error, Test::both>(sums, tile, &errors, &found);
}

#else

bool round_diagonals(const TileSums&, const RoundedTile&) { refuse_without_avx512(); }
void round_diagonals_certain(const TileSums&, const RoundedTile&, const LineErrors&, const LineErrors&, CertainEntries&) {
  refuse_without_avx512();
}

#endif

}  // namespace ozfp4
