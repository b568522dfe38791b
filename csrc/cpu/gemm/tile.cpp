#include "cpu/gemm/tile.hpp"

#include <algorithm>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define OZFP4_HAS_X86 1
#define OZFP4_WITH_AVX512 __attribute__((target("avx512f")))
#define OZFP4_WITH_FMA __attribute__((target("avx2,fma")))
#else
#define OZFP4_HAS_X86 0
#endif

namespace ozfp4 {
namespace {

// In the instructions of the build, a quarter of the tile at a time.
template <class T>
void add_plain(const T* a, const T* b, std::int64_t k, bool accumulate, T* c, std::int64_t pitch) {
  constexpr std::int64_t rows = kGemmRows / 2, columns = kGemmColumns<T> / 2;
  for (std::int64_t quarter = 0; quarter < 4; ++quarter) {
    const T *left = a + quarter / 2 * rows, *right = b + quarter % 2 * columns;
    T* own = c + quarter / 2 * rows * pitch + quarter % 2 * columns;
    T sum[rows * columns] = {};
    for (std::int64_t i = 0; i < rows && accumulate; ++i) std::copy_n(own + i * pitch, columns, sum + i * columns);
    for (std::int64_t p = 0; p < k; ++p, left += kGemmRows, right += kGemmColumns<T>) {
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < columns; ++j) sum[i * columns + j] += left[i] * right[j];
      }
    }
    for (std::int64_t i = 0; i < rows; ++i) std::copy_n(sum + i * columns, columns, own + i * pitch);
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
OZFP4_WITH_AVX512 void add_avx512(const T* a, const T* b, std::int64_t k, bool accumulate, T* c, std::int64_t pitch) {
  constexpr int lanes = 64 / sizeof(T), vectors = 3;
  using Vector = decltype(load512(b));
  Vector sum[kGemmRows][vectors];
#pragma GCC unroll 8
  for (int i = 0; i < kGemmRows; ++i) {
#pragma GCC unroll 3
    for (int j = 0; j < vectors; ++j) sum[i][j] = accumulate ? load512(c + i * pitch + j * lanes) : Vector{};
  }
  for (std::int64_t p = 0; p < k; ++p, a += kGemmRows, b += vectors * lanes) {
    const Vector right[vectors] = {load512(b), load512(b + lanes), load512(b + 2 * lanes)};
#pragma GCC unroll 8
    for (int i = 0; i < kGemmRows; ++i) {
#pragma GCC unroll 3
      for (int j = 0; j < vectors; ++j) sum[i][j] = fused512(a[i], right[j], sum[i][j]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kGemmRows; ++i) {
#pragma GCC unroll 3
    for (int j = 0; j < vectors; ++j) store512(c + i * pitch + j * lanes, sum[i][j]);
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
OZFP4_WITH_FMA void add_fma(const T* a, const T* b, std::int64_t k, bool accumulate, T* c, std::int64_t pitch) {
  constexpr int lanes = 32 / sizeof(T), vectors = 3, rows = 4;
  constexpr std::int64_t columns = kGemmColumns<T>;
  using Vector = decltype(load256(b));
  for (std::int64_t quarter = 0; quarter < 4; ++quarter) {
    const T *left = a + quarter / 2 * rows, *right_panel = b + quarter % 2 * vectors * lanes;
    T* own = c + quarter / 2 * rows * pitch + quarter % 2 * vectors * lanes;
    Vector sum[rows][vectors];
#pragma GCC unroll 4
    for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 3
      for (int j = 0; j < vectors; ++j) sum[i][j] = accumulate ? load256(own + i * pitch + j * lanes) : Vector{};
    }
    for (std::int64_t p = 0; p < k; ++p, left += kGemmRows, right_panel += columns) {
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
      for (int j = 0; j < vectors; ++j) store256(own + i * pitch + j * lanes, sum[i][j]);
    }
  }
}

#endif

template <class T>
struct Choice {
  GemmTile<T> tile;
  bool is_here;
};

}  // namespace

template <class T>
GemmTile<T> gemm_tile(int number) {
  const Choice<T> choices[] = {
#if OZFP4_HAS_X86
#if !defined(OZFP4_NO_AVX512_CLONES)
      {{"AVX-512", true, add_avx512<T>}, __builtin_cpu_supports("avx512f") != 0},
#endif
      {{"FMA", true, add_fma<T>}, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")},
#endif
      {{"plain", false, add_plain<T>}, true}};
  for (const Choice<T>& choice : choices) {
    if (choice.is_here && number-- == 0) return choice.tile;
  }
  return {};
}

template GemmTile<float> gemm_tile<float>(int);
template GemmTile<double> gemm_tile<double>(int);

}  // namespace ozfp4
