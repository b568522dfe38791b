// Intrinsics of AVX-512, where OZFP4_HAS_AVX512 says that the build has them. OZFP4_INLINE is for functions of a file's
// OZFP4_TARGET, its instructions.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(OZFP4_NO_AVX512_CLONES)
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC 11 and 12 warn of their own header's undefined values
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

#define OZFP4_HAS_AVX512 1
#define OZFP4_INLINE OZFP4_TARGET inline __attribute__((always_inline))
#else
#define OZFP4_HAS_AVX512 0
#endif
