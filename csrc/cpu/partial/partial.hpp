// A product of which this place holds a piece of K: what multiply leaves of the piece, for reconstruct once all pieces are
// summed.
//
// Every piece is encoded with the scales of the whole lines (scales_of), so that its integers are those of the whole product. Its
// residues sum up to that product's modulo each modulus: nothing is rounded before reconstruct.
#pragma once

#include <cstdint>

#include "cpu/block_runner.hpp"
#include "plan/plan.hpp"

namespace ozfp4 {

// output[group][row][column] of the first `count` moduli, in entries of plan.output_bytes(). Precondition: as cpu_matmul, of a
// plan with moduli that is not complex; equal inner dimensions, 0 among them. Throws WorkspaceError.
void cpu_residues(const Plan& plan, int count, const EncodedOperand& a, const EncodedOperand& b, std::int64_t workspace_limit,
                  void* output);

// sum += part, both as above, of so many entries in each group: residues modulo the group's modulus. Precondition: residues in
// [0, m).
void cpu_add_residues(const Plan& plan, int count, std::int64_t entries, void* sum, const void* part);

}  // namespace ozfp4
