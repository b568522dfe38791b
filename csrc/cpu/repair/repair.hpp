// Repair of entries of "correct" that the rounding test does not settle.
#pragma once

#include <cstdint>

#include "cpu/reconstruct/certified.hpp"
#include "cpu/runtime/matrix_view.hpp"
#include "cpu/scale/scale.hpp"

namespace ozfp4 {

// Puts fl(sum_k a_k b_k), rounded as the target says, and its bound where one is wanted, in the place of each listed entry of a
// block, which is the target. A thread may use `panel_bytes` for columns that lie scattered. Precondition: finite lines with
// facts.
EntryCounts cpu_repair(const ScaledOperands& of, const ResultBlock& block, const Target& target, const Listed& listed,
                       std::int64_t panel_bytes);

// Lines are disjoint that are nonzero at no common index, so that every product is zero (docs/inside/accuracy.md): their entries
// need no repair. The most that cpu_repair_disjoint allocates for a block with lines of k entries.
std::int64_t disjoint_bytes(std::int64_t rows, std::int64_t columns, std::int64_t k);

// Replaces each listed entry of disjoint lines by the exact zero, or by its addend, with its bound where one is wanted, and takes
// it off the list. Such entries count as exact. Arguments and their range as for cpu_repair.
EntryCounts cpu_repair_disjoint(const ScaledOperands& of, const ResultBlock& block, const Target& target, Listed& listed);

}  // namespace ozfp4
