// Listed entries of a block that need no repair: their row and their column are disjoint, that is, nonzero at no common index,
// so that every product is zero (docs/accuracy.md).
#pragma once

#include <cstdint>

#include "cpu/accuracy/certified.hpp"
#include "cpu/runtime/matrix_view.hpp"
#include "cpu/stages/scale.hpp"

namespace ozfp4 {

// What cpu_settle_disjoint may allocate for a block whose lines have k entries.
std::int64_t disjoint_bytes(std::int64_t rows, std::int64_t columns, std::int64_t k);

// Puts the exact zero, or what it is added to, and its bound where one is wanted, in the place of each listed entry whose lines
// are disjoint, and takes it off the list; such entries count as exact. Arguments and their range as for cpu_repair.
EntryCounts cpu_settle_disjoint(const OperandView& a, const Scales& scale_a, const OperandView& b, const Scales& scale_b,
                                std::int64_t row, std::int64_t column, const Target& target, Listed& listed);

}  // namespace ozfp4
