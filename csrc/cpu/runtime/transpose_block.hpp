// A block of 4 lines by 4 entries, transposed, by instructions that every x86-64 has.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__x86_64__) && defined(__GNUC__)
#include <emmintrin.h>
#include <xmmintrin.h>
#endif

namespace ozfp4 {

// Entry j of line i becomes entry i of line j; the lines lie `step` and `to_step` bytes apart, at any address. T: what has as
// many bytes as an entry.
template <class T>
inline void transpose_block(const char* from, std::int64_t step, char* to, std::int64_t to_step) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
#if defined(__x86_64__) && defined(__GNUC__)
  if constexpr (sizeof(T) == 4) {
    const auto line = [&](int i) { return _mm_loadu_ps(reinterpret_cast<const float*>(from + i * step)); };
    __m128 row[4] = {line(0), line(1), line(2), line(3)};
    _MM_TRANSPOSE4_PS(row[0], row[1], row[2], row[3]);
    for (int k = 0; k < 4; ++k) _mm_storeu_ps(reinterpret_cast<float*>(to + k * to_step), row[k]);
  } else {
    // Two lines by two entries at a time.
    for (int i = 0; i < 4; i += 2) {
      for (int k = 0; k < 4; k += 2) {
        const __m128d upper = _mm_loadu_pd(reinterpret_cast<const double*>(from + i * step) + k);
        const __m128d lower = _mm_loadu_pd(reinterpret_cast<const double*>(from + (i + 1) * step) + k);
        _mm_storeu_pd(reinterpret_cast<double*>(to + k * to_step) + i, _mm_unpacklo_pd(upper, lower));
        _mm_storeu_pd(reinterpret_cast<double*>(to + (k + 1) * to_step) + i, _mm_unpackhi_pd(upper, lower));
      }
    }
  }
#else
  constexpr std::int64_t bytes = sizeof(T);
  for (int i = 0; i < 4; ++i) {
    for (int k = 0; k < 4; ++k) std::memcpy(to + k * to_step + i * bytes, from + i * step + k * bytes, sizeof(T));
  }
#endif
}

}  // namespace ozfp4
