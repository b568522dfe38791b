// What a product promises, and the direction in which it is rounded.
#pragma once

#include <cstdint>

namespace ozfp4 {

enum class Accuracy : std::uint8_t {
  scaled,   // C = fl(exact product of the scaled integers): the capacity c is given
  fp64,     // at least as good as a sum in the result's own precision, entry by entry
  correct,  // C = fl(A B), the real product rounded once
};

// Of real numbers to floating-point ones; an exact zero is +0, and -0 when rounding down, as IEEE 754 has it for sums.
enum class Rounding : std::uint8_t { nearest, down, up, zero };

}  // namespace ozfp4
