// How the residues and sums of a plan lie in memory between multiply and reconstruct on a CPU.
#pragma once

#include <cstdint>

#include "plan/plan.hpp"

namespace ozfp4 {

// Residues in [0, m), in one byte where every modulus fits, else in four bytes; 64-bit sums for digit groups and INT8 products.
enum class OutputType { residue8, residue32, sum64 };

inline OutputType output_type(const Plan& plan) {
  if (!plan.has_moduli()) return OutputType::sum64;
  return plan.alphabet.residue_bytes == 1 ? OutputType::residue8 : OutputType::residue32;
}

inline std::int64_t output_entry_bytes(const Plan& plan) {
  switch (output_type(plan)) {
    case OutputType::residue8: return 1;
    case OutputType::residue32: return 4;
    case OutputType::sum64: return 8;
  }
  return 8;
}

}  // namespace ozfp4
