// AVX-512 with VNNI (VPDPBUSD: four unsigned by four signed bytes for each sum of 32 bits), VBMI (VPERMB: bytes in any order) and
// VBMI2 (VPSHLDVQ: shifts through two words). Ice Lake, Zen 4 and later have them.
//
// The sums of eight entries lie in the 64-bit lanes of a vector, see signed_columns.hpp. For FP32 the integer is first rounded to
// the 53 bits that FP64 holds, to odd.
#include "cpu/crt/round_bytes.hpp"

#include <stdexcept>

#include "cpu/runtime/avx512.hpp"

#define OZFP4_TARGET OZFP4_AVX512_BYTES
#include "cpu/crt/round_odd.hpp"

namespace ozfp4 {

bool can_round_bytes() { return has_avx512_bytes(); }

#if OZFP4_HAS_AVX512
namespace {

constexpr int kVectors = 2;          // of eight entries, which are made together
constexpr int kStep = 8 * kVectors;  // entries

// Residues of kByteLanes entries, a row for each modulus.
struct alignas(64) Tile {
  std::uint8_t row[4 * SignedColumns::kMostGroups][kByteLanes];
};

OZFP4_INLINE void load_tile(const std::uint8_t* residues, std::int64_t pitch, int count, int rows, int n, Tile& tile) {
  const __mmask64 lanes = n < kByteLanes ? (std::uint64_t(1) << n) - 1 : ~std::uint64_t(0);
  for (int i = 0; i < count; ++i) _mm512_store_si512(tile.row[i], _mm512_maskz_loadu_epi8(lanes, residues + i * pitch));
  for (int i = count; i < rows; ++i) _mm512_store_si512(tile.row[i], _mm512_setzero_si512());
}

// Sixteen bytes, four times.
OZFP4_INLINE __m512i sixteen(const std::uint8_t* bytes) {
  return _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(bytes)));
}

// The residues of a group for kStep entries from `first` on, those of an entry in both halves of its lane.
OZFP4_INLINE void load_group(const Tile& tile, int group, int first, __m512i (&residues)[kVectors]) {
  const auto* const rows = tile.row + 4 * group;
  __m512i four = sixteen(rows[0] + first);
  four = _mm512_mask_mov_epi64(four, 0x0c, sixteen(rows[1] + first));
  four = _mm512_mask_mov_epi64(four, 0x30, sixteen(rows[2] + first));
  four = _mm512_mask_mov_epi64(four, 0xc0, sixteen(rows[3] + first));
  // Byte 4 h + i of lane e: entry e of row i.
  const __m512i entry = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
  const __m512i spread = _mm512_shuffle_epi8(entry, _mm512_set4_epi32(0x08080808, 0x08080808, 0x00000000, 0x00000000));
  const __m512i order = _mm512_add_epi8(spread, _mm512_set1_epi32(0x30201000));
  residues[0] = _mm512_permutexvar_epi8(order, four);
  residues[1] = _mm512_permutexvar_epi8(_mm512_add_epi8(order, _mm512_set1_epi8(8)), four);
}

// G0, G1, H0 and H1 of signed_columns.hpp for kStep entries.
template <int Groups>
OZFP4_INLINE void sum_columns(const SignedColumns& columns, const Tile& tile, int first,
                              __m512i (&sum)[SignedColumns::kPairs][kVectors]) {
  __m512i residues[Groups][kVectors];
#pragma GCC unroll 8
  for (int g = 0; g < Groups; ++g) load_group(tile, g, first, residues[g]);
#pragma GCC unroll 4
  for (int pair = 0; pair < SignedColumns::kPairs; ++pair) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sum[pair][v] = _mm512_set1_epi64(static_cast<long long>(columns.start[pair]));
  }
#pragma GCC unroll 2
  for (int odd = 1; odd >= 0; --odd) {
#pragma GCC unroll 8
    for (int g = 0; g < Groups; ++g) {
#pragma GCC unroll 4
      for (int pair = 0; pair < SignedColumns::kPairs; ++pair) {
        const __m512i weight = _mm512_set1_epi64(static_cast<long long>(columns.weight[g][pair][odd]));
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) sum[pair][v] = _mm512_dpbusd_epi32(sum[pair][v], residues[g][v], weight);
      }
    }
    if (odd == 0) break;
#pragma GCC unroll 4
    for (int pair = 0; pair < SignedColumns::kPairs; ++pair) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sum[pair][v] = _mm512_slli_epi32(sum[pair][v], 8);
    }
  }
}

OZFP4_INLINE __m512i take_off(__m512i sum, __m512i quotient, std::uint64_t negated_product) {
  return _mm512_dpwssd_epi32(sum, quotient, _mm512_set1_epi64(static_cast<long long>(negated_product)));
}

// 2^k x or that plus or minus P', modulo 2^128.
struct Integers128 {
  __m512i high, low;
};
OZFP4_INLINE Integers128 reduce(const SignedColumns& columns, __m512i g0, __m512i g1, __m512i h0, __m512i h1) {
  // FP64 numbers from 2^52 to 2^53 are integers: the lower bits of the sum are the quotient's.
  const __m512d leading = _mm512_cvtepi64_pd(_mm512_add_epi64(h1, _mm512_srai_epi64(h0, 16)));
  const __m512d shifted = _mm512_fmadd_pd(leading, _mm512_set1_pd(columns.ratio), _mm512_set1_pd(0x1.8p52));
  const __m512i quotient = _mm512_shuffle_epi32(_mm512_castpd_si512(shifted), static_cast<_MM_PERM_ENUM>(0xa0));
  g0 = take_off(g0, quotient, columns.negated_product[0]);
  g1 = take_off(g1, quotient, columns.negated_product[1]);
  h0 = take_off(h0, quotient, columns.negated_product[2]);
  h1 = take_off(h1, quotient, columns.negated_product[3]);
  const __m512i above = _mm512_add_epi64(_mm512_srai_epi64(g0, 16), g1);
  const __m512i low = _mm512_or_si512(_mm512_slli_epi64(above, 16), _mm512_and_si512(g0, _mm512_set1_epi64(0xffff)));
  const __m512i high = _mm512_add_epi64(_mm512_add_epi64(_mm512_slli_epi64(h1, 16), h0), _mm512_srai_epi64(above, 48));
  return {high, low};
}

// Rounds eight integers; sets the bits of those that may be off by P'. `scale`: exponent - k + 64, and what FP64 adds to
// exponents.
template <class T>
OZFP4_INLINE auto round_eight(const SignedColumns& columns, Integers128 x, __m512i scale, unsigned& refused) {
  __m512i leading = without_sign(x.high);
  const __m512i most = _mm512_set1_epi64(static_cast<long long>(columns.most - 1));
  const __mmask8 is_rare = _mm512_cmpge_epu64_mask(_mm512_sub_epi64(leading, _mm512_set1_epi64(1)), most);  // also where it is 0
  refused = 0;
  if (__builtin_expect(is_rare != 0, 0)) {
    refused = _mm512_cmpgt_epu64_mask(leading, most);
    lengthen(x.low, x.high, scale);
    leading = without_sign(x.high);
  }
  const Window window(x.low, x.high, leading, scale);
  if constexpr (sizeof(T) == sizeof(double))
    return window.to_double();
  else
    return _mm512_cvtpd_ps(window.to_double<10>());
}

OZFP4_INLINE void store_eight(double* result, __mmask8 lanes, __m512d values) { _mm512_mask_storeu_pd(result, lanes, values); }
OZFP4_INLINE void store_eight(float* result, __mmask8 lanes, __m256 values) { _mm256_mask_storeu_ps(result, lanes, values); }

// G0, G1, H0 and H1 of eight entries each.
struct alignas(64) Sums {
  std::int64_t of[kByteLanes / 8][SignedColumns::kPairs][8];
};

template <int Groups>
OZFP4_TARGET void sum_tile(const SignedColumns& columns, const Tile& tile, int n, Sums& sums) {
  for (int first = 0; first < n; first += kStep) {
    __m512i sum[SignedColumns::kPairs][kVectors];
    sum_columns<Groups>(columns, tile, first, sum);
#pragma GCC unroll 4
    for (int pair = 0; pair < SignedColumns::kPairs; ++pair) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) _mm512_store_si512(sums.of[first / 8 + v][pair], sum[pair][v]);
    }
  }
}

template <class T>
OZFP4_TARGET std::uint64_t round_sums(const SignedColumns& columns, const Sums& sums, int n, const std::int32_t* exponent,
                                      T* result) {
  const __m512i offset = _mm512_set1_epi64(64 - columns.shift + kDoubleBias);
  std::uint64_t refused = 0;
  for (int first = 0; first < n; first += 8) {
    const __mmask8 lanes = n - first >= 8 ? 0xff : static_cast<__mmask8>((1 << (n - first)) - 1);
    const __m512i scale = _mm512_add_epi64(_mm512_cvtepi32_epi64(_mm256_maskz_loadu_epi32(lanes, exponent + first)), offset);
    const auto& own = sums.of[first / 8];
    const Integers128 x = reduce(columns, _mm512_load_si512(own[0]), _mm512_load_si512(own[1]), _mm512_load_si512(own[2]),
                                 _mm512_load_si512(own[3]));
    unsigned own_refused;
    store_eight(result + first, lanes, round_eight<T>(columns, x, scale, own_refused));
    refused |= static_cast<std::uint64_t>(own_refused & lanes) << first;
  }
  return refused;
}

// The integer is 2^64 high + low, |low| <= 2^63. Either word is an FP64 number and the error of its conversion, at most 2^7 and
// 2^9. Where that of `high` is not 0 the sum of the numbers is the upper one, and the rest is at least 2^63 - 2^9 in magnitude.
// Then it is off by 2^-53 of that and of itself. Else the rest is the sum of two numbers, rounded once.
OZFP4_TARGET std::uint64_t pair_sums(const SignedColumns& columns, const Sums& sums, int n, double* sum, double* rest) {
  const __m512d unit = _mm512_castsi512_pd(_mm512_set1_epi64(static_cast<long long>(kDoubleBias - columns.shift) << 52));
  const __m512d word = _mm512_set1_pd(0x1p64);
  std::uint64_t refused = 0;
  for (int first = 0; first < n; first += 8) {
    const __mmask8 lanes = n - first >= 8 ? 0xff : static_cast<__mmask8>((1 << (n - first)) - 1);
    const auto& own = sums.of[first / 8];
    const Integers128 x = reduce(columns, _mm512_load_si512(own[0]), _mm512_load_si512(own[1]), _mm512_load_si512(own[2]),
                                 _mm512_load_si512(own[3]));
    const __mmask8 is_uncertain =
        _mm512_cmpge_epu64_mask(without_sign(x.high), _mm512_set1_epi64(static_cast<long long>(columns.most)));
    const __m512i high = _mm512_add_epi64(x.high, _mm512_srli_epi64(x.low, 63));
    const __m512d number = _mm512_cvtepi64_pd(high), lower = _mm512_cvtepi64_pd(x.low);
    const __m512d error = _mm512_cvtepi64_pd(_mm512_sub_epi64(high, _mm512_cvtpd_epi64(number)));
    // A conversion of 2^63 gives -2^63, and what is taken off wraps as well.
    const __m512d lower_error = _mm512_cvtepi64_pd(_mm512_sub_epi64(x.low, _mm512_cvtpd_epi64(lower)));
    const __m512d upper = _mm512_mul_pd(number, word), total = _mm512_add_pd(upper, lower);
    const __m512d part = _mm512_sub_pd(total, upper);
    const __m512d lost = _mm512_add_pd(_mm512_sub_pd(upper, _mm512_sub_pd(total, part)), _mm512_sub_pd(lower, part));
    const __m512d others = _mm512_fmadd_pd(error, word, _mm512_add_pd(lost, lower_error));
    _mm512_mask_storeu_pd(sum + first, lanes, _mm512_mul_pd(total, unit));
    _mm512_mask_storeu_pd(rest + first, lanes, _mm512_mul_pd(others, unit));
    refused |= static_cast<std::uint64_t>(is_uncertain & lanes) << first;
  }
  return refused;
}

OZFP4_TARGET bool are_in_range(const std::int32_t* exponent, int n) {
  constexpr std::int32_t least = kLeastByteExponent, span = kMostByteExponent - kLeastByteExponent;
  __mmask16 beyond = 0;
  for (int i = 0; i < n; i += 16) {
    const __mmask16 lanes = n - i >= 16 ? 0xffff : static_cast<__mmask16>((1 << (n - i)) - 1);
    const __m512i above = _mm512_sub_epi32(_mm512_maskz_loadu_epi32(lanes, exponent + i), _mm512_set1_epi32(least));
    beyond |= _mm512_mask_cmpgt_epu32_mask(lanes, above, _mm512_set1_epi32(span));
  }
  return beyond == 0;
}

OZFP4_TARGET void sum_any(const SignedColumns& columns, const std::uint8_t* residues, std::int64_t pitch, int count, int n,
                          Sums& sums) {
  Tile tile;
  load_tile(residues, pitch, count, 4 * columns.groups, n, tile);
  switch (columns.groups) {
#define OZFP4_CASE(Groups) \
  case Groups: sum_tile<Groups>(columns, tile, n, sums); break;
    OZFP4_CASE(1)
    OZFP4_CASE(2)
    OZFP4_CASE(3)
    OZFP4_CASE(4)
    OZFP4_CASE(5)
    OZFP4_CASE(6)
    OZFP4_CASE(7)
    OZFP4_CASE(8)
#undef OZFP4_CASE
    default: throw std::logic_error("round_bytes: constants that serve nobody");
  }
}

}  // namespace

template <class T>
OZFP4_TARGET std::uint64_t round_bytes(const SignedColumns& columns, const std::uint8_t* residues, std::int64_t pitch, int count,
                                       int n, const std::int32_t* exponent, T* result) {
  if (!are_in_range(exponent, n)) return n < kByteLanes ? (std::uint64_t(1) << n) - 1 : ~std::uint64_t(0);
  Sums sums;
  sum_any(columns, residues, pitch, count, n, sums);
  return round_sums(columns, sums, n, exponent, result);
}

std::uint64_t pair_bytes(const SignedColumns& columns, const std::uint8_t* residues, std::int64_t pitch, int count, int n,
                         double* sum, double* rest) {
  Sums sums;
  sum_any(columns, residues, pitch, count, n, sums);
  return pair_sums(columns, sums, n, sum, rest);
}

#else

template <class T>
std::uint64_t round_bytes(const SignedColumns&, const std::uint8_t*, std::int64_t, int, int, const std::int32_t*, T*) {
  refuse_without_avx512();
}
std::uint64_t pair_bytes(const SignedColumns&, const std::uint8_t*, std::int64_t, int, int, double*, double*) {
  refuse_without_avx512();
}

#endif

template std::uint64_t round_bytes(const SignedColumns&, const std::uint8_t*, std::int64_t, int, int, const std::int32_t*,
                                   double*);
template std::uint64_t round_bytes(const SignedColumns&, const std::uint8_t*, std::int64_t, int, int, const std::int32_t*,
                                   float*);

}  // namespace ozfp4
