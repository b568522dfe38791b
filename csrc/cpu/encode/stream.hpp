// Stores that pass the caches by, for what is larger than these and read only later: memory is not read first, and nothing that
// is needed sooner has to make room.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace ozfp4 {

// Copies n numbers, of which whole cache lines go past the caches. To be followed by stream_fence before others read them.
inline void stream_line(const double* from, std::int64_t n, double* to) {
#if defined(__SSE2__)
  constexpr std::int64_t kCacheLine = 8;  // numbers
  const auto past = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) / sizeof(double) % kCacheLine);
  const std::int64_t head = (kCacheLine - past) % kCacheLine;
  if (n >= head + kCacheLine && reinterpret_cast<std::uintptr_t>(to) % sizeof(double) == 0) {
    for (std::int64_t i = 0; i < head; ++i) to[i] = from[i];
    std::int64_t i = head;
    for (; i + kCacheLine <= n; i += kCacheLine) {
      for (std::int64_t j = 0; j < kCacheLine; j += 2) _mm_stream_pd(to + i + j, _mm_loadu_pd(from + i + j));
    }
    for (; i < n; ++i) to[i] = from[i];
    return;
  }
#endif
  std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(double));
}

inline void stream_fence() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace ozfp4
