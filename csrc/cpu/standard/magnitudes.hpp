// The magnitudes that certify entries of "standard" (certifies_magnitude). Each is the sum of the products of the upper eight
// bits of its row and its column. One product of bytes gives those of a whole block of the result.
#pragma once

#include <cstdint>

#include "cpu/runtime/buffer.hpp"
#include "cpu/runtime/matrix_view.hpp"
#include "cpu/scale/scale.hpp"

namespace ozfp4 {

// Memory for the magnitudes of such a block, and while they are found.
std::int64_t magnitude_bytes(std::int64_t rows, std::int64_t columns, std::int64_t k);

// min(L, kMostMagnitude) as 16 bits, [row][column]; nothing where the lines certify all entries. Precondition: scales with the
// records of "standard", k >= 1.
Buffer cpu_magnitudes(const ScaledOperands& of, const ResultBlock& block);

}  // namespace ozfp4
