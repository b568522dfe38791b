// Listed entries of a block, correctly rounded from the operands themselves.
#pragma once

#include <cstdint>

#include "cpu/accuracy/certified.hpp"
#include "cpu/runtime/matrix_view.hpp"
#include "cpu/stages/scale.hpp"

namespace ozfp4 {

// Puts fl(sum_k a_k b_k), rounded as the target says, and its bound where one is wanted, in the place of each listed entry of a
// block, whose first row and column are given. A thread may use `panel_bytes` for columns that lie scattered. Range: finite lines
// with facts; b is seen from its columns.
EntryCounts cpu_repair(const OperandView& a, const Scales& scale_a, const OperandView& b, const Scales& scale_b, std::int64_t row,
                       std::int64_t column, const Target& target, const Listed& listed, std::int64_t panel_bytes);

}  // namespace ozfp4
