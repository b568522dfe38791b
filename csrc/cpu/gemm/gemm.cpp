#include "cpu/gemm/gemm.hpp"

#include <algorithm>

#include "arith/multiples.hpp"
#include "cpu/gemm/tile.hpp"
#include "cpu/runtime/transpose_block.hpp"

namespace ozfp4 {
namespace {

constexpr std::int64_t kDepth = 512;    // of K at a time: panels stay in the first two caches while tiles take them
constexpr std::int64_t kColumns = 288;  // whose panels lie in the second-level cache or near it: a multiple of kGemmColumns

// Lines as a panel [k][Lines], zeros in the place of those that there are not.
template <std::int64_t Lines, class T>
void pack(const T* from, std::int64_t ld, std::int64_t lines, std::int64_t k, T* to) {
  static_assert(Lines % 4 == 0);
  if (lines < Lines) std::fill_n(to, Lines * k, T(0));
  const std::int64_t whole_lines = lines / 4 * 4, whole = k / 4 * 4;
  constexpr std::int64_t bytes = sizeof(T);
  for (std::int64_t p = 0; p < whole; p += 4) {
    for (std::int64_t i = 0; i < whole_lines; i += 4) {
      transpose_block<T>(reinterpret_cast<const char*>(from + i * ld + p), ld * bytes,
                         reinterpret_cast<char*>(to + p * Lines + i), Lines * bytes);
    }
  }
  for (std::int64_t i = 0; i < lines; ++i) {
    for (std::int64_t p = i < whole_lines ? whole : 0; p < k; ++p) to[p * Lines + i] = from[i * ld + p];
  }
}

template <class T>
std::int64_t columns_at_once(std::int64_t columns) {
  return std::min(round_up(columns, kGemmColumns<T>), kColumns);
}

}  // namespace

template <class T>
std::int64_t gemm_bytes(std::int64_t columns, std::int64_t k) {
  return round_up((columns_at_once<T>(columns) + kGemmRows) * std::min(k, kDepth) * static_cast<std::int64_t>(sizeof(T)), 64);
}

template <class T>
void gemm_nt(const GemmTile<T>& tile, std::int64_t rows, std::int64_t columns, std::int64_t k, const T* a, std::int64_t lda,
             const T* b, std::int64_t ldb, bool accumulate, T* c, std::int64_t ldc, void* memory) {
  constexpr std::int64_t width = kGemmColumns<T>;
  const std::int64_t depth = std::min(k, kDepth), wide = columns_at_once<T>(columns);
  T *panels = static_cast<T*>(memory), *panel_a = panels + wide * depth;
  alignas(64) T sums[kGemmRows * width];
  for (std::int64_t column = 0; column < columns; column += wide) {
    const std::int64_t end = std::min(column + wide, columns);
    for (std::int64_t inner = 0; inner < k; inner += depth) {
      const std::int64_t inners = std::min(depth, k - inner);
      const bool is_first = inner == 0 && !accumulate;
      for (std::int64_t j = column; j < end; j += width) {
        pack<width>(b + j * ldb + inner, ldb, std::min(width, end - j), inners, panels + (j - column) * inners);
      }
      for (std::int64_t i = 0; i < rows; i += kGemmRows) {
        const std::int64_t own_rows = std::min(kGemmRows, rows - i);
        pack<kGemmRows>(a + i * lda + inner, lda, own_rows, inners, panel_a);
        for (std::int64_t j = column; j < end; j += width) {
          const std::int64_t own_columns = std::min(width, end - j);
          T* to = c + i * ldc + j;
          const T* panel_b = panels + (j - column) * inners;
          if (own_rows == kGemmRows && own_columns == width) {
            tile.add_products(panel_a, panel_b, inners, !is_first, to, ldc);
            continue;
          }
          tile.add_products(panel_a, panel_b, inners, false, sums, width);
          for (std::int64_t r = 0; r < own_rows; ++r) {
            for (std::int64_t x = 0; x < own_columns; ++x)
              to[r * ldc + x] = (is_first ? T(0) : to[r * ldc + x]) + sums[r * width + x];
          }
        }
      }
    }
  }
}

template std::int64_t gemm_bytes<float>(std::int64_t, std::int64_t);
template std::int64_t gemm_bytes<double>(std::int64_t, std::int64_t);
template void gemm_nt(const GemmTile<float>&, std::int64_t, std::int64_t, std::int64_t, const float*, std::int64_t, const float*,
                      std::int64_t, bool, float*, std::int64_t, void*);
template void gemm_nt(const GemmTile<double>&, std::int64_t, std::int64_t, std::int64_t, const double*, std::int64_t,
                      const double*, std::int64_t, bool, double*, std::int64_t, void*);

}  // namespace ozfp4
