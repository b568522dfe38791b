// The accuracy that a product promises, and the direction in which it is rounded.
#pragma once

#include <cstdint>

#include "arith/host_device.hpp"

namespace ozfp4 {

enum class Accuracy : std::uint8_t {
  scaled,    // C = fl(exact product of the scaled integers): the capacity c is given
  standard,  // as good as a chain of fused multiply-adds in the result's precision, entry by entry
  correct,   // C = fl(A B), the real product rounded once
};

// How real numbers become floating-point ones; an exact zero is +0, and -0 when rounding down, as IEEE 754 has it for sums.
enum class Rounding : std::uint8_t { nearest, down, up, zero };

OZFP4_HD double exact_zero(Rounding rounding) { return rounding == Rounding::down ? -0.0 : 0.0; }

}  // namespace ozfp4
