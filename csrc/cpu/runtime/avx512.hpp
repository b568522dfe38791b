// Intrinsics of AVX-512, where OZFP4_HAS_AVX512 says that the build has them. A file defines OZFP4_TARGET as one of two levels;
// OZFP4_INLINE is for functions of that level.
#pragma once

#include <stdexcept>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(OZFP4_NO_AVX512_CLONES)
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC 11 and 12 warn of their own header's undefined values
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

#define OZFP4_HAS_AVX512 1
// Skylake and later.
#define OZFP4_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
// Ice Lake, Zen 4 and later: leading zeros counted (CD), bytes in any order (VBMI), shifts through two words (VBMI2) and dot
// products of bytes (VNNI) besides.
#define OZFP4_AVX512_BYTES \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx512vbmi,avx512vbmi2,avx512vnni,bmi2,popcnt")))
#define OZFP4_INLINE OZFP4_TARGET inline __attribute__((always_inline))
#else
#define OZFP4_HAS_AVX512 0
#endif

namespace ozfp4 {

// Whether this CPU, its system and this build have the instructions of OZFP4_AVX512.
inline bool has_avx512() {
#if OZFP4_HAS_AVX512
  static const bool found = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return found;
#else
  return false;
#endif
}

// The same of OZFP4_AVX512_BYTES.
inline bool has_avx512_bytes() {
#if OZFP4_HAS_AVX512
  static const bool found = has_avx512() && __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512vbmi") &&
                            __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vnni") &&
                            __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
  return found;
#else
  return false;
#endif
}

// The body of a function of these instructions in a build without them, where it is not called.
[[noreturn]] inline void refuse_without_avx512() { throw std::logic_error("this build has no AVX-512"); }

}  // namespace ozfp4
