// OZFP4_VECTORISED compiles a loop function for several instruction sets and picks one when the library is loaded, so
// that one portable build runs AVX2 or AVX-512 where the CPU has them. The arithmetic is exact, so all give the same bits.
#pragma once

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && !defined(OZFP4_NO_CLONES)
#define OZFP4_VECTORISED __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), flatten))
#else
#define OZFP4_VECTORISED
#endif
