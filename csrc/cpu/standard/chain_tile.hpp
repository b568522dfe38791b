// The register tile of chains of fused multiply-adds: every accumulator takes its products in the order of k.
#pragma once

#include <cstdint>

namespace ozfp4 {

// Rows and columns of a tile. Panels are [k][kChainRows] and [k][kChainColumns<T>]: columns fill three registers of AVX-512.
inline constexpr std::int64_t kChainRows = 8;
template <class T>
inline constexpr std::int64_t kChainColumns = 192 / static_cast<std::int64_t>(sizeof(T));

// c[i][j] = fma(a[k][i], b[k][j], c[i][j]) for k = 0, 1, ...; `c` is [kChainRows][kChainColumns<T>].
void add_chains(const double* a, const double* b, std::int64_t k, double* c);
void add_chains(const float* a, const float* b, std::int64_t k, float* c);

// The same of `n` entries of the tile alone. Range: 1 <= n <= kMostSingleChains.
inline constexpr int kMostSingleChains = 4;
struct TileEntry {
  std::int8_t row, column;
};
void add_single_chains(const double* a, const double* b, std::int64_t k, const TileEntry* entries, int n, double* c);
void add_single_chains(const float* a, const float* b, std::int64_t k, const TileEntry* entries, int n, float* c);

}  // namespace ozfp4
