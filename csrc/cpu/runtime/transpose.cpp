#include "cpu/runtime/transpose.hpp"

#include <cstring>

#include "cpu/runtime/avx512.hpp"

#define OZFP4_TARGET OZFP4_AVX512

namespace ozfp4 {

bool can_transpose() { return has_avx512(); }

#if OZFP4_HAS_AVX512
namespace {

// Quarters of registers, of x[i] to x[i + 3] for i = 0, 4, ..: quarter q of x[i] becomes quarter of that number in x[i + q].
OZFP4_INLINE void transpose_quarters(__m512i (&x)[4]) {
  const __m512i a = _mm512_shuffle_i32x4(x[0], x[1], 0x88), b = _mm512_shuffle_i32x4(x[0], x[1], 0xdd);
  const __m512i c = _mm512_shuffle_i32x4(x[2], x[3], 0x88), d = _mm512_shuffle_i32x4(x[2], x[3], 0xdd);
  x[0] = _mm512_shuffle_i32x4(a, c, 0x88);
  x[1] = _mm512_shuffle_i32x4(b, d, 0x88);
  x[2] = _mm512_shuffle_i32x4(a, c, 0xdd);
  x[3] = _mm512_shuffle_i32x4(b, d, 0xdd);
}

// 8 x 8 numbers of 64 bits.
OZFP4_INLINE void transpose_eight(const char* from, std::int64_t step, double* to, std::int64_t pitch) {
  __m512i pair[2][4];  // of rows 2 q and 2 q + 1: even columns, then odd ones
#pragma GCC unroll 4
  for (int q = 0; q < 4; ++q) {
    const __m512i upper = _mm512_loadu_si512(from + 2 * q * step), lower = _mm512_loadu_si512(from + (2 * q + 1) * step);
    pair[0][q] = _mm512_unpacklo_epi64(upper, lower);
    pair[1][q] = _mm512_unpackhi_epi64(upper, lower);
  }
#pragma GCC unroll 2
  for (int odd = 0; odd < 2; ++odd) {
    transpose_quarters(pair[odd]);
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) _mm512_storeu_si512(to + (2 * q + odd) * pitch, pair[odd][q]);
  }
}

}  // namespace

OZFP4_TARGET void transpose_words(const void* from, std::int64_t pitch, void* to) {
  const char* line = static_cast<const char*>(from);
  // Of four lines, which are the quarters later: words 4 q + w of all of them.
  __m512i four[4][4];  // [w][lines 4 r to 4 r + 3]
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r, line += 4 * pitch) {
    const __m512i a = _mm512_loadu_si512(line), b = _mm512_loadu_si512(line + pitch);
    const __m512i c = _mm512_loadu_si512(line + 2 * pitch), d = _mm512_loadu_si512(line + 3 * pitch);
    const __m512i low_ab = _mm512_unpacklo_epi32(a, b), high_ab = _mm512_unpackhi_epi32(a, b);
    const __m512i low_cd = _mm512_unpacklo_epi32(c, d), high_cd = _mm512_unpackhi_epi32(c, d);
    four[0][r] = _mm512_unpacklo_epi64(low_ab, low_cd);
    four[1][r] = _mm512_unpackhi_epi64(low_ab, low_cd);
    four[2][r] = _mm512_unpacklo_epi64(high_ab, high_cd);
    four[3][r] = _mm512_unpackhi_epi64(high_ab, high_cd);
  }
#pragma GCC unroll 4
  for (int w = 0; w < 4; ++w) {
    transpose_quarters(four[w]);
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) _mm512_storeu_si512(static_cast<char*>(to) + 64 * (4 * q + w), four[w][q]);
  }
}

OZFP4_TARGET void transpose_columns(const char* from, std::int64_t step, std::int64_t count, double* to, std::int64_t pitch) {
  std::int64_t k = 0;
  for (; k + 8 <= count; k += 8) {
    transpose_eight(from + k * step, step, to + k, pitch);
    transpose_eight(from + k * step + 64, step, to + 8 * pitch + k, pitch);
  }
  for (; k < count; ++k) {
    double row[16];
    std::memcpy(row, from + k * step, sizeof row);
    for (int i = 0; i < 16; ++i) to[i * pitch + k] = row[i];
  }
}

#else

void transpose_words(const void*, std::int64_t, void*) { refuse_without_avx512(); }
void transpose_columns(const char*, std::int64_t, std::int64_t, double*, std::int64_t) { refuse_without_avx512(); }

#endif

}  // namespace ozfp4
