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

// Three vectors of sums, or of B, anywhere among their entries.
template <class Vector>
struct __attribute__((packed, may_alias)) Triple {
  Vector vector[3];
};

// A part of the tile at a time: its sums fill `Rows` x 3 registers. With AVX-512 it is all of the tile, else a quarter. It is
// inlined into functions that have the instructions of `fuse`.
template <int Rows, class Vector, class T>
inline __attribute__((always_inline)) void add_fused(void (*fuse)(const T&, const Vector&, Vector&), const T* a, const T* b,
                                                     std::int64_t k, bool accumulate, T* c, std::int64_t pitch) {
  constexpr std::int64_t columns = 3 * sizeof(Vector) / sizeof(T), across = kGemmColumns<T> / columns;
  for (std::int64_t part = 0; part < kGemmRows / Rows * across; ++part) {
    const T *left = a + part / across * Rows, *panel = b + part % across * columns;
    T* own = c + part / across * Rows * pitch + part % across * columns;
    Vector sum[Rows][3];
#pragma GCC unroll 8
    for (int i = 0; i < Rows; ++i) {
      const auto& before = *reinterpret_cast<const Triple<Vector>*>(own + i * pitch);
#pragma GCC unroll 3
      for (int j = 0; j < 3; ++j) sum[i][j] = accumulate ? before.vector[j] : Vector{};
    }
    for (std::int64_t p = 0; p < k; ++p, left += kGemmRows, panel += kGemmColumns<T>) {
      const auto& from = *reinterpret_cast<const Triple<Vector>*>(panel);
      const Vector right[3] = {from.vector[0], from.vector[1], from.vector[2]};
#pragma GCC unroll 8
      for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 3
        for (int j = 0; j < 3; ++j) fuse(left[i], right[j], sum[i][j]);
      }
    }
#pragma GCC unroll 8
    for (int i = 0; i < Rows; ++i) {
      auto& to = *reinterpret_cast<Triple<Vector>*>(own + i * pitch);
#pragma GCC unroll 3
      for (int j = 0; j < 3; ++j) to.vector[j] = sum[i][j];
    }
  }
}

#define OZFP4_FUSED_TILE(target, name, Rows, T, Vector, set1, fmadd)                                         \
  target inline void name##_fuse(const T& a, const Vector& b, Vector& sum) { sum = fmadd(set1(a), b, sum); } \
  target void name(const T* a, const T* b, std::int64_t k, bool accumulate, T* c, std::int64_t pitch) {      \
    add_fused<Rows, Vector, T>(name##_fuse, a, b, k, accumulate, c, pitch);                                  \
  }
#if !defined(OZFP4_NO_AVX512_CLONES)
OZFP4_FUSED_TILE(OZFP4_WITH_AVX512, add_avx512, 8, double, __m512d, _mm512_set1_pd, _mm512_fmadd_pd)
OZFP4_FUSED_TILE(OZFP4_WITH_AVX512, add_avx512, 8, float, __m512, _mm512_set1_ps, _mm512_fmadd_ps)
#endif
OZFP4_FUSED_TILE(OZFP4_WITH_FMA, add_fma, 4, double, __m256d, _mm256_set1_pd, _mm256_fmadd_pd)
OZFP4_FUSED_TILE(OZFP4_WITH_FMA, add_fma, 4, float, __m256, _mm256_set1_ps, _mm256_fmadd_ps)
#undef OZFP4_FUSED_TILE

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
      {{"AVX-512", true, add_avx512}, __builtin_cpu_supports("avx512f") != 0},
#endif
      {{"FMA", true, add_fma}, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")},
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
