// Entries of an operand as limbs of eight bits, in the tiles that multiply takes.
#pragma once

#include <cstdint>

#include "cpu/limbs/shape.hpp"

namespace ozfp4 {

// Where a panel's entries lie: that of line l at inner index k is x[l * line_step + k * inner_step], `lines` by `inner` of them.
// Entries beyond these count as 0.
struct LimbLines {
  const double* x;
  std::int64_t line_step, inner_step;
  std::int64_t lines, inner;
  double scale[kPanelLines];  // powers of two, of all lines of the panel, from 2^-980 to 2^980
  std::int32_t raised[kPanelLines];
  bool are_finite;        // whether all entries are known to be
  std::int64_t* rounded;  // nullptr, or by line how many entries the integers of which are not the scaled entries
};

// One panel, whole: of A, with entries side by side along K (inner_step 1), and of B (line_step 1). Integers are round(x scale)
// 2^raised, ties to even, of what is not finite 0. Precondition: |x| scale 2^raised <= 2^(8 limbs - 2), raised <= kMostRaised;
// the default floating-point mode.
void encode_left_limbs(const LimbLines& lines, int limbs, std::int64_t tiles, std::int8_t* panel);
void encode_right_limbs(const LimbLines& lines, int limbs, std::int64_t tiles, std::int8_t* panel);

// The same in plain loops, for CPUs without AVX-512 instructions for it.
void encode_left_limbs_plainly(const LimbLines& lines, int limbs, std::int64_t tiles, std::int8_t* panel);
void encode_right_limbs_plainly(const LimbLines& lines, int limbs, std::int64_t tiles, std::int8_t* panel);

}  // namespace ozfp4
