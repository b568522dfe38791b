// Into which blocks a direct product is cut.
#pragma once

#include <cstdint>
#include <optional>

#include "arith/multiples.hpp"
#include "cpu/direct/tile.hpp"

namespace ozfp4 {

struct DirectShape {
  std::int64_t rows, columns, inners, word_bytes;

  std::int64_t panels_a() const { return ceil_div(rows, kDirectRows); }
  std::int64_t panels_b() const { return ceil_div(columns, kDirectColumns); }
  std::int64_t bytes() const { return (panels_a() * kDirectRows + panels_b() * kDirectColumns) * inners * word_bytes; }
};

// The largest block whose panels stay at or below `cap` bytes; nothing where those of one tile do not. Range: extents >= 1.
std::optional<DirectShape> choose_direct_shape(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t word_bytes,
                                               std::int64_t cap);

}  // namespace ozfp4
