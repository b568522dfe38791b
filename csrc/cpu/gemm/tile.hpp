// The register tile of products in floating point: of planes, with exact sums, and of chains of fused multiply-adds.
#pragma once

#include <cstdint>

namespace ozfp4 {

// Rows and columns of a tile. Panels are [k][kGemmRows] and [k][kGemmColumns<T>]: columns fill three registers of AVX-512.
inline constexpr std::int64_t kGemmRows = 8;
template <class T>
inline constexpr std::int64_t kGemmColumns = 192 / static_cast<std::int64_t>(sizeof(T));

template <class T>
struct GemmTile {
  const char* name = nullptr;  // of its instructions
  bool is_fused = false;       // each product is added by a fused multiply-add
  // c[i][j] = sum_k a[k][i] b[k][j], plus c[i][j] where `accumulate`, in the order of k; rows of `c` lie `pitch` apart.
  void (*add_products)(const T* a, const T* b, std::int64_t k, bool accumulate, T* c, std::int64_t pitch) = nullptr;
};

// The tiles of this CPU, the fastest first; behind the last one without a name.
template <class T>
GemmTile<T> gemm_tile(int number = 0);

}  // namespace ozfp4
