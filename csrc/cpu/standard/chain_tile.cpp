#include "cpu/standard/chain_tile.hpp"

#include <cmath>

#if defined(__x86_64__) && defined(__GNUC__)
#define OZFP4_HAS_X86 1
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
  constexpr std::int64_t columns = kGemmColumns<T>;
  for (std::int64_t p = 0; p < k; ++p, a += kGemmRows, b += columns) {
    for (std::int64_t i = 0; i < kGemmRows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) c[i * columns + j] = std::fma(a[i], b[j], c[i * columns + j]);
    }
  }
}

bool has_fma() {
#if OZFP4_HAS_X86
  static const bool found = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  return found;
#else
  return true;  // or a call of a library: then both are the same
#endif
}

template <class T>
inline __attribute__((always_inline)) void add_entries(const T* a, const T* b, std::int64_t k, const TileEntry* entries, int n,
                                                       T* c) {
  constexpr std::int64_t columns = kGemmColumns<T>;
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
      sum[e] = std::fma(left[e][p * kGemmRows], right[e][p * columns], sum[e]);
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
void add(const T* a, const T* b, std::int64_t k, T* c) {
  static const GemmTile<T> tile = gemm_tile<T>();
  if (!tile.is_fused) return add_by_library(a, b, k, c);
  tile.add_products(a, b, k, true, c, kGemmColumns<T>);
}

template <class T>
void add_single(const T* a, const T* b, std::int64_t k, const TileEntry* entries, int n, T* c) {
  has_fma() ? add_entries_fma(a, b, k, entries, n, c) : add_entries(a, b, k, entries, n, c);
}

}  // namespace

void add_chains(const double* a, const double* b, std::int64_t k, double* c) { add(a, b, k, c); }
void add_chains(const float* a, const float* b, std::int64_t k, float* c) { add(a, b, k, c); }

void add_single_chains(const double* a, const double* b, std::int64_t k, const TileEntry* entries, int n, double* c) {
  add_single(a, b, k, entries, n, c);
}
void add_single_chains(const float* a, const float* b, std::int64_t k, const TileEntry* entries, int n, float* c) {
  add_single(a, b, k, entries, n, c);
}

}  // namespace ozfp4
