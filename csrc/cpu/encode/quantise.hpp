// From entries to integers, round(x 2^shift), ties to even; 0 for non-finite entries.
#pragma once

#include <cstdint>

#include "cpu/runtime/matrix_view.hpp"

namespace ozfp4 {

// Integers of an operand, row-major [outer][inner][words]: little-endian 32-bit words, two's complement. Range: words <=
// WideLine::kWords, |x| 2^shift <= 2^(32 words - 2).
void cpu_quantise(const OperandView& operand, const std::int32_t* shift, int words, std::uint32_t* integers);

}  // namespace ozfp4
