// Integers 2^64 high + low, eight of them, rounded to FP64. They are shifted left until the leading bit, the highest that differs
// from the sign, is bit 62 of a window of 64 bits. All bits below the window are or-ed into the window's last bit. That rounds to
// odd, of which the conversion to FP64 makes the one rounding to nearest.
//
// Included once OZFP4_TARGET is defined as OZFP4_AVX512_BYTES.
#pragma once

#include <cstdint>

#include "cpu/runtime/avx512.hpp"

#if OZFP4_HAS_AVX512
namespace ozfp4 {

inline constexpr std::int32_t kDoubleBias = 1023;

// The magnitude, less one where the number is negative.
OZFP4_INLINE __m512i without_sign(__m512i x) { return _mm512_xor_si512(x, _mm512_srai_epi64(x, 63)); }

// Where the upper word only repeats the sign of the lower one the number is that; and where that is so.
OZFP4_INLINE __mmask8 lengthen(__m512i& low, __m512i& high, __m512i& scale) {
  const __mmask8 is_short = _mm512_cmpeq_epi64_mask(high, _mm512_srai_epi64(low, 63));
  high = _mm512_mask_mov_epi64(high, is_short, low);
  low = _mm512_mask_mov_epi64(low, is_short, _mm512_setzero_si512());
  scale = _mm512_mask_sub_epi64(scale, is_short, scale, _mm512_set1_epi64(64));
  return is_short;
}

// The window, what is below it, how far the integer was shifted, and the power of two that the window counts.
struct Window {
  __m512i window, rest, shift;
  __m512d power;

  // `leading`: high without_sign; `scale`: the exponent plus 64 + kDoubleBias. Precondition: as lengthen leaves the words; the
  // power is a normal number.
  OZFP4_INLINE Window(__m512i low, __m512i high, __m512i leading, __m512i scale) {
    shift = _mm512_sub_epi64(_mm512_lzcnt_epi64(leading), _mm512_set1_epi64(1));
    window = _mm512_shldv_epi64(high, low, shift);
    rest = _mm512_sllv_epi64(low, shift);
    power = _mm512_castsi512_pd(_mm512_slli_epi64(_mm512_sub_epi64(scale, shift), 52));
  }

  // The integer, rounded to odd in units of 2^Cut windows, then to FP64, which with Cut = 10 takes no rounding.
  template <int Cut = 0>
  OZFP4_INLINE __m512d to_double() const {
    const __m512i below = _mm512_set1_epi64((1 << Cut) - 1), upper = _mm512_and_si512(window, _mm512_set1_epi64(-(1 << Cut)));
    const __m512i lost = _mm512_or_si512(rest, _mm512_and_si512(window, below));
    const __m512i odd = _mm512_mask_or_epi64(upper, _mm512_test_epi64_mask(lost, lost), upper, _mm512_set1_epi64(1 << Cut));
    return _mm512_mul_pd(_mm512_cvtepi64_pd(odd), power);
  }
};

}  // namespace ozfp4
#endif
