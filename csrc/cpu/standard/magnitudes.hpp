// The magnitudes that certify entries of "standard" (certifies_magnitude): of each entry of a block of the result the sum of the
// products of the upper eight bits of its row and its column, by one product of bytes.
#pragma once

#include <cstdint>

#include "cpu/runtime/buffer.hpp"
#include "cpu/runtime/matrix_view.hpp"
#include "cpu/scale/scale.hpp"

namespace ozfp4 {

// A block of the result: rows of A and columns of B, as far as the scales have them.
struct ResultBlock {
  std::int64_t row, rows, column, columns;
};

// Memory for the magnitudes of such a block, and while they are found.
std::int64_t magnitude_bytes(std::int64_t rows, std::int64_t columns, std::int64_t k);

// min(L, kMostMagnitude) as 16 bits, [row][column]; nothing where the lines certify all entries. Precondition: scales with the
// records of "standard", k >= 1.
Buffer cpu_magnitudes(const OperandView& a, const Scales& scale_a, const OperandView& b, const Scales& scale_b,
                      const ResultBlock& block);

}  // namespace ozfp4
