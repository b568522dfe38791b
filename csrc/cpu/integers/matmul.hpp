// One product of integers on the CPU: norms, encode, multiply, and the wide integers modulo 2^w of the result's type, or modulo a
// number.
#pragma once

#include <cstdint>
#include <functional>

#include "cpu/block_runner.hpp"
#include "cpu/runtime/matrix_view.hpp"
#include "cpu/scale/scale.hpp"

namespace ozfp4 {

struct IntegerTarget {
  ResultView result;          // of an integer type
  std::uint64_t modulus = 0;  // 0: none, the result wraps; else in [1, 2^63), and the result is int64 or uint64
};

struct IntegerOutcome {
  int moduli_used = 0;  // 0 for scheme I
  int products = 0;
  std::int64_t workspace = 0;
  std::int64_t overflows = 0;  // entries that the result's type does not hold
  LineRange exponents;
  StageTimes times;
  const ByteKernel* kernel = nullptr;  // nullptr: floating point

  // As that of a further product of the same plan, next to this one.
  void extend(const IntegerOutcome& other);
};

// target = A B, exact but for what the target keeps of it. `b` is seen from its columns. Precondition: equal inner dimensions at
// most plan.k_max; integer entries of magnitude 2^plan.bits at most, for a plan of INT8 products int8 ones, and K < 2^49. The
// target has their extents and overlaps neither. `progress`, if any, is called with the fraction done; it may throw to stop.
IntegerOutcome cpu_integer_matmul(const Plan& plan, const OperandView& a, const OperandView& b, const IntegerTarget& target,
                                  std::int64_t workspace_limit, const std::function<void(double)>& progress);

}  // namespace ozfp4
