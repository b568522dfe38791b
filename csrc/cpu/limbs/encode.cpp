#include "cpu/limbs/encode.hpp"

#include <algorithm>
#include <cmath>

#include "arith/limbs/limbs.hpp"
#include "arith/scale_entry.hpp"
#include "cpu/runtime/avx512.hpp"

#define OZFP4_TARGET OZFP4_AVX512_BYTES

namespace ozfp4 {
namespace {

double integer_of(double x, double scale, std::int64_t& rounded) {
  if (!(std::fabs(x) < INFINITY)) return 0.0;
  const double z = x * scale, value = std::nearbyint(z);
  rounded += value != z || (value == 0.0 && x != 0.0);  // then the scaled number may have vanished
  return value;
}

// place(limb, tile, line, inner of the tile) is the byte's index.
template <class Place>
void encode_plainly(const LimbLines& lines, int limbs, std::int64_t tiles, std::int8_t* panel, const Place& place) {
  for (std::int64_t line = 0; line < kPanelLines; ++line) {
    std::int64_t rounded = 0;
    for (std::int64_t k = 0; k < tiles * kTileDepth; ++k) {
      const bool is_entry = line < lines.lines && k < lines.inner;
      const double x = is_entry ? lines.x[line * lines.line_step + k * lines.inner_step] : 0.0;
      const WideInt<3> digits = balanced_bytes(scaled_wide<3>(integer_of(x, lines.scale[line], rounded), lines.raised[line]));
      for (int i = 0; i < limbs; ++i) {
        const std::int64_t at = (i * tiles + k / kTileDepth) * kTileBytes + place(line, k % kTileDepth);
        panel[at] = static_cast<std::int8_t>(digits.word[i / 4] >> (8 * (i % 4)) & 0xFF);
      }
    }
    if (lines.rounded != nullptr && line < lines.lines) lines.rounded[line] = rounded;
  }
}

#if OZFP4_HAS_AVX512
// 64 entries in eight registers, plus halves at every byte and modulo 2^64; afterwards register i holds their limbs i, in the
// same order. For ninth limbs `last` has those of register i in the bytes i, afterwards in the same order as the others.
struct Entries {
  __m512i v[8], last;
};

// The scales of eight entries and how their integers are raised: of nine limbs the scales raise them, and `magic` rounds to
// multiples of 2^raised.
struct LineScales {
  __m512d scale, magic;
  __m512i raised;
};
template <bool Nine>
OZFP4_TARGET inline LineScales scales_of(__m512d scale, __m512i raised) {
  if constexpr (!Nine) return {scale, _mm512_setzero_pd(), raised};
  const __m512i factor = _mm512_slli_epi64(raised, 52);  // adds to exponents
  const __m512d magic = _mm512_set1_pd(0x1.8p52);
  return {_mm512_castsi512_pd(_mm512_add_epi64(_mm512_castpd_si512(scale), factor)),
          _mm512_castsi512_pd(_mm512_add_epi64(_mm512_castpd_si512(magic), factor)), raised};
}

// Entries to the integers of register i, 0 in the place of NaN and infinities, and which of them are rounded.
//
// Integers of nine limbs are in two parts of the raised number: z = 2^40 h + rest with h = round(z 2^-40), |h| <= 2^30. An
// addition of 1.5 * 2^52 leaves h in the lower bits. rest is an FP64 number, |rest| <= 2^39. Rounded to even, a multiple of
// 2^raised, it makes z so, as 2^40 h is an even one. Let t be that integer plus the halves, 0 < t < 2^64. The ninth limb is the
// part of 2^40 h + t above 64 bits: bits 24 and up of h + floor(t 2^-40), the fourth byte.
template <bool Nine, bool Finite>
OZFP4_TARGET inline __mmask8 to_integers(__m512d x, const LineScales& line, int i, Entries& own) {
  constexpr int not_finite = 0x01 | 0x08 | 0x10 | 0x80;  // NaN, quiet or not, and both infinities
  const auto is_finite = Finite ? __mmask8(0xFF) : static_cast<__mmask8>(~_mm512_fpclass_pd_mask(x, not_finite));
  const __m512d z = Finite ? _mm512_mul_pd(x, line.scale) : _mm512_maskz_mul_pd(is_finite, x, line.scale);
  const __m512i halves = _mm512_set1_epi64(static_cast<long long>(kByteHalves));
  __mmask8 is_other;
  if constexpr (Nine) {
    const __m512d magic = _mm512_set1_pd(0x1.8p52), sum = _mm512_fmadd_pd(z, _mm512_set1_pd(0x1p-40), magic);
    const __m512d rest = _mm512_fnmadd_pd(_mm512_sub_pd(sum, magic), _mm512_set1_pd(0x1p40), z);
    const __m512i upper = _mm512_castpd_si512(sum);  // the lower 32 bits of 1.5 * 2^52 are 0
    const __m512d rounded = _mm512_sub_pd(_mm512_add_pd(rest, line.magic), line.magic);
    is_other = _mm512_cmp_pd_mask(rounded, rest, _CMP_NEQ_OQ);
    const __m512i t = _mm512_add_epi64(_mm512_cvtpd_epi64(rounded), halves);
    own.v[i] = _mm512_add_epi64(_mm512_slli_epi64(upper, 40), t);
    const __m512i above = _mm512_add_epi64(upper, _mm512_srli_epi64(t, 40));
    const __m512i fourth = _mm512_set4_epi32(0x0B0B0B0B, 0x0B0B0B0B, 0x03030303, 0x03030303);
    const __mmask64 bytes = std::uint64_t(0x0101010101010101) << i;
    own.last =
        i == 0 ? _mm512_maskz_shuffle_epi8(bytes, above, fourth) : _mm512_mask_shuffle_epi8(own.last, bytes, above, fourth);
  } else {
    const __m512i v = _mm512_cvt_roundpd_epi64(z, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    is_other = _mm512_cmp_pd_mask(_mm512_cvtepi64_pd(v), z, _CMP_NEQ_OQ);
    own.v[i] = _mm512_add_epi64(_mm512_sllv_epi64(v, line.raised), halves);
  }
  const __mmask8 has_vanished = _mm512_cmp_pd_mask(z, _mm512_setzero_pd(), _CMP_EQ_OQ) & is_finite;
  return is_other | (_mm512_mask_test_epi64_mask(has_vanished, _mm512_castpd_si512(x), _mm512_set1_epi64(INT64_MAX)));
}

// Every other register of limbs, from pairs of entries.
OZFP4_TARGET inline void turn_quarters(const __m512i (&pairs)[4], __m512i* v) {
  const __m512i a = _mm512_shuffle_i64x2(pairs[0], pairs[1], 0x88), b = _mm512_shuffle_i64x2(pairs[0], pairs[1], 0xDD);
  const __m512i c = _mm512_shuffle_i64x2(pairs[2], pairs[3], 0x88), d = _mm512_shuffle_i64x2(pairs[2], pairs[3], 0xDD);
  v[0] = _mm512_shuffle_i64x2(a, c, 0x88);
  v[2] = _mm512_shuffle_i64x2(b, d, 0x88);
  v[4] = _mm512_shuffle_i64x2(a, c, 0xDD);
  v[6] = _mm512_shuffle_i64x2(b, d, 0xDD);
}

// Limbs as balanced_bytes gives them; where the integer has fewer than eight, those above are 0.
template <bool Nine>
OZFP4_TARGET inline void limbs_of_entries(Entries& own) {
  const __m512i halves = _mm512_set1_epi64(static_cast<long long>(kByteHalves));
  alignas(64) static constexpr std::uint8_t kByLimb[64] = {
      0, 8,  16, 24, 32, 40, 48, 56, 1, 9,  17, 25, 33, 41, 49, 57, 2, 10, 18, 26, 34, 42, 50, 58, 3, 11, 19, 27, 35, 43, 51, 59,
      4, 12, 20, 28, 36, 44, 52, 60, 5, 13, 21, 29, 37, 45, 53, 61, 6, 14, 22, 30, 38, 46, 54, 62, 7, 15, 23, 31, 39, 47, 55, 63};
  const __m512i by_limb = _mm512_load_si512(kByLimb);
  __m512i* v = own.v;
  for (int r = 0; r < 8; ++r) {
    v[r] = _mm512_permutexvar_epi8(by_limb, _mm512_xor_si512(v[r], halves));
  }
  // Now a register has eight limbs by eight entries: pairs of registers are turned, then their quarters.
  __m512i low[4], high[4];
  for (int p = 0; p < 4; ++p) {
    low[p] = _mm512_unpacklo_epi64(v[2 * p], v[2 * p + 1]);
    high[p] = _mm512_unpackhi_epi64(v[2 * p], v[2 * p + 1]);
  }
  turn_quarters(low, v);
  turn_quarters(high, v + 1);
  if constexpr (Nine) own.last = _mm512_permutexvar_epi8(by_limb, own.last);
}

// Which of eight entries from `first` on there are.
inline __mmask8 first_ones(std::int64_t first, std::int64_t end) {
  const std::int64_t n = end - first;
  return n >= 8 ? 0xFF : n <= 0 ? 0 : static_cast<__mmask8>((1u << n) - 1);
}

template <bool Counts, bool Nine, bool Finite>
OZFP4_TARGET void encode_left(const LimbLines& lines, int limbs, std::int64_t tiles, std::int8_t* panel) {
  for (std::int64_t line = 0; line < kPanelLines; ++line) {
    const bool is_line = line < lines.lines;
    const double* x = lines.x + (is_line ? line * lines.line_step : 0);
    const std::int64_t inner = is_line ? lines.inner : 0;
    const LineScales scales = scales_of<Nine>(_mm512_set1_pd(lines.scale[line]), _mm512_set1_epi64(lines.raised[line]));
    std::int64_t count = 0;
    for (std::int64_t t = 0; t < tiles; ++t) {
      Entries own;
      for (int r = 0; r < 8; ++r) {
        const std::int64_t k = t * kTileDepth + 8 * r;
        const __mmask8 rounded = to_integers<Nine, Finite>(_mm512_maskz_loadu_pd(first_ones(k, inner), x + k), scales, r, own);
        if (Counts) count += __builtin_popcount(rounded);
      }
      limbs_of_entries<Nine>(own);
      std::int8_t* to = panel + t * kTileBytes + line * kTileDepth;
      for (int i = 0; i < std::min(limbs, 8); ++i) _mm512_store_si512(to + i * tiles * kTileBytes, own.v[i]);
      if constexpr (Nine) _mm512_store_si512(to + 8 * tiles * kTileBytes, own.last);
    }
    if (Counts && is_line) lines.rounded[line] = count;
  }
}

template <bool Counts, bool Nine, bool Finite>
OZFP4_TARGET void encode_right(const LimbLines& lines, int limbs, std::int64_t tiles, std::int8_t* panel) {
  // Byte 16 k + line to byte 4 line + k.
  alignas(64) static constexpr std::uint8_t kByLine[64] = {0,  16, 32, 48, 1,  17, 33, 49, 2,  18, 34, 50, 3,  19, 35, 51,
                                                           4,  20, 36, 52, 5,  21, 37, 53, 6,  22, 38, 54, 7,  23, 39, 55,
                                                           8,  24, 40, 56, 9,  25, 41, 57, 10, 26, 42, 58, 11, 27, 43, 59,
                                                           12, 28, 44, 60, 13, 29, 45, 61, 14, 30, 46, 62, 15, 31, 47, 63};
  const __m512i by_line = _mm512_load_si512(kByLine), one = _mm512_set1_epi64(1);
  const auto scales_from = [&](int first) OZFP4_TARGET {
    const __m256i raised = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(lines.raised + first));
    return scales_of<Nine>(_mm512_loadu_pd(lines.scale + first), _mm512_cvtepi32_epi64(raised));
  };
  const LineScales scales[2] = {scales_from(0), scales_from(8)};
  const __mmask8 is_line[2] = {first_ones(0, lines.lines), first_ones(8, lines.lines)};
  __m512i counts[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
  for (std::int64_t group = 0; group < tiles * kTileDepth / 4; ++group) {
    Entries own;
    for (int r = 0; r < 8; ++r) {
      const std::int64_t k = 4 * group + r / 2;
      const int half = r % 2;
      const __mmask8 is_entry = k < lines.inner ? is_line[half] : 0;
      const double* x = lines.x + k * lines.inner_step + 8 * half;
      const __mmask8 rounded = to_integers<Nine, Finite>(_mm512_maskz_loadu_pd(is_entry, x), scales[half], r, own);
      if (Counts) counts[half] = _mm512_mask_add_epi64(counts[half], rounded, counts[half], one);
    }
    limbs_of_entries<Nine>(own);
    std::int8_t* to = panel + group / 16 * kTileBytes + group % 16 * kTileDepth;
    for (int i = 0; i < std::min(limbs, 8); ++i) {
      _mm512_store_si512(to + i * tiles * kTileBytes, _mm512_permutexvar_epi8(by_line, own.v[i]));
    }
    if constexpr (Nine) _mm512_store_si512(to + 8 * tiles * kTileBytes, _mm512_permutexvar_epi8(by_line, own.last));
  }
  if (Counts) {
    for (int half = 0; half < 2; ++half) _mm512_mask_storeu_epi64(lines.rounded + 8 * half, is_line[half], counts[half]);
  }
}

// The one of each that is asked for.
using Encode = void (*)(const LimbLines&, int, std::int64_t, std::int8_t*);
template <bool Counts, bool Nine>
constexpr Encode kLeft[] = {encode_left<Counts, Nine, false>, encode_left<Counts, Nine, true>};
template <bool Counts, bool Nine>
constexpr Encode kRight[] = {encode_right<Counts, Nine, false>, encode_right<Counts, Nine, true>};
constexpr const Encode* kLefts[2][2] = {{kLeft<false, false>, kLeft<false, true>}, {kLeft<true, false>, kLeft<true, true>}};
constexpr const Encode* kRights[2][2] = {{kRight<false, false>, kRight<false, true>}, {kRight<true, false>, kRight<true, true>}};
#endif

}  // namespace

void encode_left_limbs_plainly(const LimbLines& lines, int limbs, std::int64_t tiles, std::int8_t* panel) {
  encode_plainly(lines, limbs, tiles, panel, [](std::int64_t line, std::int64_t k) { return line * kTileDepth + k; });
}

void encode_right_limbs_plainly(const LimbLines& lines, int limbs, std::int64_t tiles, std::int8_t* panel) {
  encode_plainly(lines, limbs, tiles, panel,
                 [](std::int64_t line, std::int64_t k) { return k / 4 * kTileDepth + 4 * line + k % 4; });
}

void encode_left_limbs(const LimbLines& lines, int limbs, std::int64_t tiles, std::int8_t* panel) {
#if OZFP4_HAS_AVX512
  if (has_avx512_bytes()) return kLefts[lines.rounded != nullptr][limbs > 8][lines.are_finite](lines, limbs, tiles, panel);
#endif
  encode_left_limbs_plainly(lines, limbs, tiles, panel);
}

void encode_right_limbs(const LimbLines& lines, int limbs, std::int64_t tiles, std::int8_t* panel) {
#if OZFP4_HAS_AVX512
  if (has_avx512_bytes()) return kRights[lines.rounded != nullptr][limbs > 8][lines.are_finite](lines, limbs, tiles, panel);
#endif
  encode_right_limbs_plainly(lines, limbs, tiles, panel);
}

}  // namespace ozfp4
