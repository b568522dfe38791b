// Stage 1, scale: for each row of A (column of B) the exponent e of its largest finite magnitude gives the scale exponent
// s = c - 1 - e (0 for a line without finite nonzero entries); the integers are round(a * 2^s), ties to even.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "arith/special.hpp"
#include "cpu/runtime/matrix_view.hpp"

namespace ozfp4 {

// Of the largest magnitudes of the lines that have a finite nonzero entry; empty: none has.
struct ExponentRange {
  std::int32_t least = std::numeric_limits<std::int32_t>::max(), largest = std::numeric_limits<std::int32_t>::min();

  bool empty() const { return least > largest; }
  void extend(const ExponentRange& other) {
    least = std::min(least, other.least);
    largest = std::max(largest, other.largest);
  }
};

struct Scales {
  std::vector<std::int32_t> shift;    // s_i (t_j), one per line
  std::vector<std::uint8_t> special;  // Special flags, one per line
  double norm_squared = 0;            // rigorous upper bound of the largest sum of squares of a line's integers
  ExponentRange exponents;
  std::int64_t special_lines = 0;
};

// One pass over the operand. Range: capacity in [kLeastBits, kMostBits]; float64 or float32 entries.
Scales cpu_scale(const OperandView& operand, int capacity);

}  // namespace ozfp4
