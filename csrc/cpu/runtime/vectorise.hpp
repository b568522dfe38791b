// OZFP4_VECTORISED compiles a loop function for several instruction sets and picks one when the library is loaded. So one
// portable build runs AVX2 or AVX-512 where the CPU has them. The arithmetic is exact, so all give the same bits.
//
// GCC alone does so: Clang's target_clones cannot go with flatten, and without it what a loop calls may stay baseline code.
// OZFP4_IS_VECTORISED: loops have more than SSE2, by that or by the compiler's options; CMakeLists.txt warns where they have not.
// The thread sanitizer would look at what picks one before it is set up itself.
#pragma once

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define OZFP4_IS_VECTORISED 1
#if defined(OZFP4_NO_AVX512_CLONES) && __GNUC__ >= 12  // for measurements: what a processor without AVX-512 runs
#define OZFP4_VECTORISED __attribute__((target_clones("arch=x86-64-v3", "default"), flatten))
#elif defined(OZFP4_NO_AVX512_CLONES)
#define OZFP4_VECTORISED __attribute__((target_clones("avx2", "default"), flatten))
#elif __GNUC__ >= 12
#define OZFP4_VECTORISED __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), flatten))
#else
// The levels x86-64-v3 and -v4 are known to GCC 12 and later. The arch= names of GCC 11 are chosen by the very processor, so that
// a Zen 4 would not run code for skylake-avx512. Single features are chosen by what the processor has.
#define OZFP4_VECTORISED __attribute__((target_clones("avx512f", "avx2", "default"), flatten))
#endif
#else
#define OZFP4_VECTORISED
#if defined(__x86_64__) && !defined(__AVX2__)
#define OZFP4_IS_VECTORISED 0
#else
#define OZFP4_IS_VECTORISED 1
#endif
#endif
