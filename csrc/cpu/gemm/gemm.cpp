#include "cpu/gemm/gemm.hpp"

#include <algorithm>

#include "arith/multiples.hpp"
#include "cpu/gemm/tile.hpp"
#include "cpu/runtime/transpose_block.hpp"
#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

constexpr std::int64_t kDepth = 512;    // of K at a time: panels stay in the first two caches while tiles take them
constexpr std::int64_t kDecoded = 128;  // of K, of as many lines as a panel has: half of a first-level cache
constexpr std::int64_t kColumns = 288;  // with panels in the second-level cache or near it: a multiple of kGemmColumns

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

OZFP4_VECTORISED void decode_entries(const std::int8_t* limbs, std::int64_t n, float* out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(limbs[i]);
}

// The same of bytes.
template <std::int64_t Lines>
void pack(const std::int8_t* from, std::int64_t ld, std::int64_t lines, std::int64_t k, float* to) {
  float decoded[Lines * kDecoded];
  for (std::int64_t p = 0; p < k; p += kDecoded) {
    const std::int64_t n = std::min(kDecoded, k - p);
    for (std::int64_t i = 0; i < lines; ++i) decode_entries(from + i * ld + p, n, decoded + i * kDecoded);
    pack<Lines>(decoded, kDecoded, lines, n, to + p * Lines);
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

template <class T, class Entry>
void gemm_nt(const GemmTile<T>& tile, std::int64_t rows, std::int64_t columns, std::int64_t k, const Entry* a, std::int64_t lda,
             const Entry* b, std::int64_t ldb, bool accumulate, T* c, std::int64_t ldc, void* memory) {
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
#define OZFP4_GEMM(T, Entry)                                                                                                    \
  template void gemm_nt(const GemmTile<T>&, std::int64_t, std::int64_t, std::int64_t, const Entry*, std::int64_t, const Entry*, \
                        std::int64_t, bool, T*, std::int64_t, void*);
OZFP4_GEMM(float, std::int8_t)
OZFP4_GEMM(double, double)
#undef OZFP4_GEMM

}  // namespace ozfp4
