// Stage 1 for entries that are integers: nothing is scaled, and the norms give the number of moduli.
#pragma once

#include "cpu/runtime/matrix_view.hpp"
#include "cpu/scale/scale.hpp"

namespace ozfp4 {

struct IntegerNorms {
  double norm_squared = 0;  // rigorous upper bound of the largest sum of squares of a line
  int bits = 0;             // every entry is below 2^bits in magnitude, or -2^bits
  LineRange exponents;      // of the largest magnitudes of the lines
};

// One pass over the operand. Precondition: integer entries.
IntegerNorms cpu_integer_norms(const OperandView& operand);

}  // namespace ozfp4
