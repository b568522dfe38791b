// Products of integers in words of 32 or 64 bits, as the processor multiplies them: without planes, moduli or BLAS. A CPU that
// multiplies eight words at once needs less time for it than for two products of a BLAS.
#pragma once

#include <cstdint>
#include <functional>

#include "cpu/integers/matmul.hpp"

namespace ozfp4 {

struct DirectOutcome {
  bool is_refused = false;    // nothing was written: the norms do not exclude what `wants_exact` does
  bool may_overflow = false;  // the norms do not exclude that an entry was wrapped
  int word_bits = 0;
  std::int64_t workspace = 0;
  LineRange exponents;
  StageTimes times;

  // As that of a further product beside this one.
  void extend(const DirectOutcome& other);
};

// target = A B modulo 2^w of the result's type, or modulo a number, and refused where `wants_exact` or such a number asks for
// the exact product and the norms do not say that it fits: |C_ij| <= ||a_i|| ||b_j||. `b` is seen from its columns. Range: equal
// inner dimensions; integer entries; a target of their extents that overlaps neither. `progress` as in cpu_integer_matmul.
// Throws std::length_error as choose_blocks does.
DirectOutcome cpu_direct_matmul(const OperandView& a, const OperandView& b, const IntegerTarget& target, bool wants_exact,
                                std::int64_t workspace_limit, const std::function<void(double)>& progress);

}  // namespace ozfp4
