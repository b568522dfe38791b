// Tiles of chains of fused multiply-adds: every sum takes its products in the order of k.
#pragma once

#include <cstdint>

#include "cpu/gemm/tile.hpp"

namespace ozfp4 {

// c[i][j] = fma(a[k][i], b[k][j], c[i][j]) for k = 0, 1, ...; panels as those of a GemmTile, `c` is [kGemmRows][kGemmColumns<T>].
void add_chains(const double* a, const double* b, std::int64_t k, double* c);
void add_chains(const float* a, const float* b, std::int64_t k, float* c);

// The same of `n` entries of the tile alone. Precondition: 1 <= n <= kMostSingleChains.
inline constexpr int kMostSingleChains = 4;
struct TileEntry {
  std::int8_t row, column;
};
void add_single_chains(const double* a, const double* b, std::int64_t k, const TileEntry* entries, int n, double* c);
void add_single_chains(const float* a, const float* b, std::int64_t k, const TileEntry* entries, int n, float* c);

}  // namespace ozfp4
