#include "cpu/standard/chain_tile.hpp"

#include <cmath>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define OZFP4_HAS_X86 1
#define OZFP4_WITH_AVX512 __attribute__((target("avx512f")))
#define OZFP4_WITH_FMA __attribute__((target("avx2,fma")))
#else
#define OZFP4_HAS_X86 0
#define OZFP4_WITH_FMA
#endif

namespace ozfp4 {
namespace {

// In the instructions of the build: a call of a library where these do not fuse, and right everywhere.
template <class T>
void add_by_library(const T* a, const T* b, std::int64_t k, T* c) {
  constexpr std::int64_t columns = kChainColumns<T>;
  for (std::int64_t p = 0; p < k; ++p, a += kChainRows, b += columns) {
    for (std::int64_t i = 0; i < kChainRows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) c[i * columns + j] = std::fma(a[i], b[j], c[i * columns + j]);
    }
  }
}

#if OZFP4_HAS_X86

#if !defined(OZFP4_NO_AVX512_CLONES)
OZFP4_WITH_AVX512 inline __m512d load512(const double* x) { return _mm512_loadu_pd(x); }
OZFP4_WITH_AVX512 inline __m512 load512(const float* x) { return _mm512_loadu_ps(x); }
OZFP4_WITH_AVX512 inline void store512(double* to, __m512d x) { _mm512_storeu_pd(to, x); }
OZFP4_WITH_AVX512 inline void store512(float* to, __m512 x) { _mm512_storeu_ps(to, x); }
OZFP4_WITH_AVX512 inline __m512d fused512(double a, __m512d b, __m512d c) { return _mm512_fmadd_pd(_mm512_set1_pd(a), b, c); }
OZFP4_WITH_AVX512 inline __m512 fused512(float a, __m512 b, __m512 c) { return _mm512_fmadd_ps(_mm512_set1_ps(a), b, c); }

template <class T>
OZFP4_WITH_AVX512 void add_avx512(const T* a, const T* b, std::int64_t k, T* c) {
  constexpr int lanes = 64 / sizeof(T), vectors = 3;
  using Vector = decltype(load512(b));
  Vector sum[kChainRows][vectors];
#pragma GCC unroll 8
  for (int i = 0; i < kChainRows; ++i) {
#pragma GCC unroll 3
    for (int j = 0; j < vectors; ++j) sum[i][j] = load512(c + (i * vectors + j) * lanes);
  }
  for (std::int64_t p = 0; p < k; ++p, a += kChainRows, b += vectors * lanes) {
    const Vector right[vectors] = {load512(b), load512(b + lanes), load512(b + 2 * lanes)};
#pragma GCC unroll 8
    for (int i = 0; i < kChainRows; ++i) {
#pragma GCC unroll 3
      for (int j = 0; j < vectors; ++j) sum[i][j] = fused512(a[i], right[j], sum[i][j]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kChainRows; ++i) {
#pragma GCC unroll 3
    for (int j = 0; j < vectors; ++j) store512(c + (i * vectors + j) * lanes, sum[i][j]);
  }
}
#endif

OZFP4_WITH_FMA inline __m256d load256(const double* x) { return _mm256_loadu_pd(x); }
OZFP4_WITH_FMA inline __m256 load256(const float* x) { return _mm256_loadu_ps(x); }
OZFP4_WITH_FMA inline void store256(double* to, __m256d x) { _mm256_storeu_pd(to, x); }
OZFP4_WITH_FMA inline void store256(float* to, __m256 x) { _mm256_storeu_ps(to, x); }
OZFP4_WITH_FMA inline __m256d fused256(double a, __m256d b, __m256d c) { return _mm256_fmadd_pd(_mm256_set1_pd(a), b, c); }
OZFP4_WITH_FMA inline __m256 fused256(float a, __m256 b, __m256 c) { return _mm256_fmadd_ps(_mm256_set1_ps(a), b, c); }

// A quarter of the tile at a time: twelve sums, three registers of B and one of A.
template <class T>
OZFP4_WITH_FMA void add_fma(const T* a, const T* b, std::int64_t k, T* c) {
  constexpr int lanes = 32 / sizeof(T), vectors = 3, rows = 4;
  constexpr std::int64_t columns = kChainColumns<T>;
  using Vector = decltype(load256(b));
  for (std::int64_t quarter = 0; quarter < 4; ++quarter) {
    const T *left = a + quarter / 2 * rows, *right_panel = b + quarter % 2 * vectors * lanes;
    T* own = c + quarter / 2 * rows * columns + quarter % 2 * vectors * lanes;
    Vector sum[rows][vectors];
#pragma GCC unroll 4
    for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 3
      for (int j = 0; j < vectors; ++j) sum[i][j] = load256(own + i * columns + j * lanes);
    }
    for (std::int64_t p = 0; p < k; ++p, left += kChainRows, right_panel += columns) {
      const Vector right[vectors] = {load256(right_panel), load256(right_panel + lanes), load256(right_panel + 2 * lanes)};
#pragma GCC unroll 4
      for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 3
        for (int j = 0; j < vectors; ++j) sum[i][j] = fused256(left[i], right[j], sum[i][j]);
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 3
      for (int j = 0; j < vectors; ++j) store256(own + i * columns + j * lanes, sum[i][j]);
    }
  }
}

#endif

template <class T>
using Tile = void (*)(const T*, const T*, std::int64_t, T*);

bool has_fma() {
#if OZFP4_HAS_X86
  static const bool found = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  return found;
#else
  return false;
#endif
}

template <class T>
Tile<T> choose_tile() {
#if OZFP4_HAS_X86
#if !defined(OZFP4_NO_AVX512_CLONES)
  if (__builtin_cpu_supports("avx512f")) return add_avx512<T>;
#endif
  if (has_fma()) return add_fma<T>;
#endif
  return add_by_library<T>;
}

template <class T>
inline __attribute__((always_inline)) void add_entries(const T* a, const T* b, std::int64_t k, const TileEntry* entries, int n,
                                                       T* c) {
  constexpr std::int64_t columns = kChainColumns<T>;
  // Chains beside each other hide each other's latency; those beyond n repeat the first.
  const T *left[kMostSingleChains], *right[kMostSingleChains];
  T sum[kMostSingleChains];
  for (int e = 0; e < kMostSingleChains; ++e) {
    const TileEntry own = entries[e < n ? e : 0];
    left[e] = a + own.row, right[e] = b + own.column, sum[e] = c[own.row * columns + own.column];
  }
  for (std::int64_t p = 0; p < k; ++p) {
#pragma GCC unroll 4
    for (int e = 0; e < kMostSingleChains; ++e) {
      sum[e] = std::fma(left[e][p * kChainRows], right[e][p * columns], sum[e]);
    }
  }
  for (int e = 0; e < n; ++e) c[entries[e].row * columns + entries[e].column] = sum[e];
}

OZFP4_WITH_FMA void add_entries_fma(const double* a, const double* b, std::int64_t k, const TileEntry* entries, int n,
                                    double* c) {
  add_entries(a, b, k, entries, n, c);
}
OZFP4_WITH_FMA void add_entries_fma(const float* a, const float* b, std::int64_t k, const TileEntry* entries, int n, float* c) {
  add_entries(a, b, k, entries, n, c);
}

template <class T>
void add_single(const T* a, const T* b, std::int64_t k, const TileEntry* entries, int n, T* c) {
#if OZFP4_HAS_X86
  if (!has_fma()) return add_entries(a, b, k, entries, n, c);
#endif
  add_entries_fma(a, b, k, entries, n, c);
}

}  // namespace

void add_chains(const double* a, const double* b, std::int64_t k, double* c) {
  static const Tile<double> tile = choose_tile<double>();
  tile(a, b, k, c);
}
void add_chains(const float* a, const float* b, std::int64_t k, float* c) {
  static const Tile<float> tile = choose_tile<float>();
  tile(a, b, k, c);
}

void add_single_chains(const double* a, const double* b, std::int64_t k, const TileEntry* entries, int n, double* c) {
  add_single(a, b, k, entries, n, c);
}
void add_single_chains(const float* a, const float* b, std::int64_t k, const TileEntry* entries, int n, float* c) {
  add_single(a, b, k, entries, n, c);
}

}  // namespace ozfp4
