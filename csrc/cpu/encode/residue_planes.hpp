// From the residues of a line in [0, m) to its planes.
#pragma once

#include <cstdint>

#include "plan/plan.hpp"

namespace ozfp4 {

// Limbs of n residues of a group at planes[p * pitch], p from 0; `residues` in [0, modulus), or bytes plus 128 where the plan is
// for int8 entries.
void write_residue_planes(const Group& group, const std::uint8_t* residues, std::int64_t n, std::int8_t* planes,
                          std::int64_t pitch);

}  // namespace ozfp4
