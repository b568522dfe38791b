// A strided matrix seen as one operand of the product: `outer` rows of A or columns of B, each with `inner` entries along
// the inner dimension K. Strides are in bytes and may be zero or negative; entries need no alignment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "arith/element_type.hpp"
#include "cpu/runtime/transpose_block.hpp"

namespace ozfp4 {

struct OperandView {
  const char* data;
  ElementType type;
  std::int64_t outer, inner;
  std::ptrdiff_t outer_stride, inner_stride;

  const char* at(std::int64_t o, std::int64_t i) const { return data + o * outer_stride + i * inner_stride; }
};

// A block of the result: rows of A and columns of B.
struct ResultBlock {
  std::int64_t row, rows, column, columns;
};

// A strided output matrix; there may be none, with data null.
struct ResultView {
  char* data;
  ElementType type;  // float64 or float32, or that of integers
  std::int64_t rows, columns;
  std::ptrdiff_t row_stride, column_stride;

  char* at(std::int64_t row, std::int64_t column) const { return data + row * row_stride + column * column_stride; }
  ResultView part(const ResultBlock& block) const {
    return {data == nullptr ? nullptr : at(block.row, block.column), type, block.rows, block.columns, row_stride, column_stride};
  }
  ResultView transposed() const { return {data, type, columns, rows, column_stride, row_stride}; }
};

template <class T>
T load(const char* address) {
  T x;
  std::memcpy(&x, address, sizeof x);
  return x;
}

template <class T>
void store(char* address, T x) {
  std::memcpy(address, &x, sizeof x);
}

// n entries, `stride` bytes apart.
template <class T>
void store_line(char* address, std::ptrdiff_t stride, const T* x, std::int64_t n) {
  if (stride == static_cast<std::ptrdiff_t>(sizeof(T))) {
    std::memcpy(address, x, static_cast<std::size_t>(n) * sizeof(T));
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) store(address + i * stride, x[i]);
}

// Calls body(T()), T being double or float. Precondition: type is float64 or float32.
template <class Body>
auto with_float(ElementType type, const Body& body) {
  return type == ElementType::float64 ? body(double()) : body(float());
}

// Precondition: a value of the result's type.
inline void put(const ResultView& result, std::int64_t row, std::int64_t column, double value) {
  with_float(result.type, [&](auto zero) { store(result.at(row, column), static_cast<decltype(zero)>(value)); });
}

// Zeros of any type with zero bytes.
inline void put_zeros(const ResultView& result) {
  for (std::int64_t i = 0; i < result.rows; ++i) {
    for (std::int64_t j = 0; j < result.columns; ++j) {
      std::memset(result.at(i, j), 0, static_cast<std::size_t>(entry_bytes(result.type)));
    }
  }
}

// Tile shape of the scale and encode sweeps: 64 KiB of FP64, which leaves the second-level cache room for the planes. Lines
// of a tile lie kTilePitch apart, no power of two, so that entries of one column do not compete for the same cache set.
inline constexpr std::int64_t kTileOuter = 16;
inline constexpr std::int64_t kTileInner = 512;
inline constexpr std::int64_t kTilePitch = kTileInner + 8;

// A line along the longer stride lies in a separate page, where no processor prefetches.
inline constexpr std::int64_t kLinesAhead = 24;
inline void prefetch(const char* address, std::int64_t bytes) {
#if defined(__GNUC__)
  for (std::int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(address + at);
#else
  (void)address, (void)bytes;
#endif
}

// Copies [outer0, outer0 + outers) x [inner0, inner0 + inners) to the lines of `tile`. Precondition: inners <= kTileInner, or one
// line. The loop order follows the smaller stride, so that a cache line is read once.
template <class T>
void load_tile(const OperandView& view, std::int64_t outer0, std::int64_t outers, std::int64_t inner0, std::int64_t inners,
               T* tile) {
  const char* origin = view.at(outer0, inner0);
  if (view.inner_stride == static_cast<std::ptrdiff_t>(sizeof(T))) {
    for (std::int64_t o = 0; o < outers; ++o) {
      std::memcpy(tile + o * kTilePitch, origin + o * view.outer_stride, static_cast<std::size_t>(inners) * sizeof(T));
    }
  } else {
    std::int64_t k = 0;
    if constexpr (sizeof(T) >= 4) {
      const bool are_columns = view.outer_stride == static_cast<std::ptrdiff_t>(sizeof(T)) && outers % 4 == 0;
      for (; are_columns && k + 4 <= inners; k += 4) {
        for (std::int64_t o = 0; o < outers; o += 4) {
          transpose_block<T>(origin + k * view.inner_stride + o * view.outer_stride, view.inner_stride,
                             reinterpret_cast<char*>(tile + o * kTilePitch + k), kTilePitch * view.outer_stride);
        }
      }
    }
    for (; k < inners; ++k) {
      const char* line = origin + k * view.inner_stride;
      prefetch(k + kLinesAhead < inners ? line + kLinesAhead * view.inner_stride : line, outers * view.outer_stride);
      for (std::int64_t o = 0; o < outers; ++o) tile[o * kTilePitch + k] = load<T>(line + o * view.outer_stride);
    }
  }
}

// Calls body(line, first, entries, n) for the pieces of the lines [outer, outer + outers), outers <= kTileOuter: n <= kTileInner
// entries from the `first` on. `tile` has room for kTileOuter * kTilePitch of them.
template <class T, class Body>
void for_pieces(const OperandView& view, std::int64_t outer, std::int64_t outers, T* tile, const Body& body) {
  for (std::int64_t inner = 0; inner < view.inner; inner += kTileInner) {
    const std::int64_t inners = view.inner - inner < kTileInner ? view.inner - inner : kTileInner;
    load_tile(view, outer, outers, inner, inners, tile);
    for (std::int64_t o = 0; o < outers; ++o) body(outer + o, inner, tile + o * kTilePitch, inners);
  }
}

}  // namespace ozfp4
