// Stage 4 where the result is integers: the wide integer modulo 2^w of the result's type, or modulo a number.
#pragma once

#include <cstdint>

#include "cpu/runtime/matrix_view.hpp"
#include "plan/plan.hpp"

namespace ozfp4 {

struct IntegerTarget {
  ResultView result;          // of an integer type
  std::uint64_t modulus = 0;  // 0: none, the result wraps; else in [1, 2^63), and the result is int64 or uint64
};

// Stores a block of integers and returns how many of them the result's type does not hold; 0 where there is a modulus. `output`
// is what multiply left for the first `count` moduli or groups, [g][rows][columns].
std::int64_t cpu_reconstruct_to_integers(const Plan& plan, int count, const void* output, const IntegerTarget& target);

}  // namespace ozfp4
