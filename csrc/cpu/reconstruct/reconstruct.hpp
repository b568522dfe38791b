// Stage 4, reconstruct: residues (direct CRT) or digit groups (positional) -> wide integer -> FP64 or FP32, rounded once.
#pragma once

#include <cstdint>

#include "cpu/reconstruct/certified.hpp"
#include "cpu/runtime/matrix_view.hpp"
#include "cpu/scale/scale.hpp"
#include "plan/plan.hpp"

namespace ozfp4 {

// result[row][column] of a block = integer * 2^-(shift_a[row] + shift_b[column]); `output` is what multiply left for the
// first `count` moduli or groups, [g][rows][columns]. shift_a and shift_b point at the block's first row and column.
void cpu_reconstruct(const Plan& plan, int count, const void* output, const std::int32_t* shift_a, const std::int32_t* shift_b,
                     const ResultView& result);

// The wide integers themselves, crt_words(plan, count) 32-bit words each, for tests and notebooks.
void cpu_reconstruct_integers(const Plan& plan, int count, const void* output, std::int64_t entries, std::uint32_t* words);

// Overwrites the rows and columns of the result that belong to a NaN or an infinity of an operand with the values of IEEE
// arithmetic. NaN comes of NaN, of infinity times zero, and of infinities of both signs; else the result is the signed infinity.
// An update adds its factors and C to these.
void cpu_patch_specials(const ScaledOperands& of, const Target& target);

}  // namespace ozfp4
