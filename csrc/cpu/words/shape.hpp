// How the operands of a product in words lie, and what multiply leaves of it.
#pragma once

#include <cstdint>

#include "arith/multiples.hpp"
#include "cpu/gemm/sum_tile.hpp"

namespace ozfp4 {

// Extents, padded to tiles. A's entries lie [row][k], B's [panel][k][kSumColumns], sums [row][column]: of each plane, which are
// the integers in FP64, the integers modulo 2^64, and the residues by each bridge.
struct WordShape {
  std::int64_t rows, columns, inner;

  WordShape(std::int64_t m, std::int64_t n, std::int64_t k)
      : rows(round_up(m, kSumRows)), columns(round_up(n, kSumColumns)), inner(k) {}

  std::int64_t entries_a() const { return rows * inner; }
  std::int64_t entries_b() const { return columns * inner; }
  std::int64_t entries() const { return rows * columns; }
  // Bytes of all planes of all three.
  std::int64_t bytes(int bridges) const { return (entries_a() + entries_b() + entries()) * 8 * (2 + bridges); }
};

}  // namespace ozfp4
