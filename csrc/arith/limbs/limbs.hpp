// Positional digits of one integer: base-13 limbs in S (paper, Lemma 1) and balanced digits of a power-of-two base.
#pragma once

#include <cstdint>

#include "arith/host_device.hpp"

namespace ozfp4 {

// The greedy limb: the representative of v mod 13 of least magnitude, with ±5, which is not in S, replaced by ∓8.
// Always |limb| <= 8 (Lemma 2). Range: any v with |v| <= 2^62; v becomes (v - limb) / 13.
OZFP4_HD int take_limb13(std::int64_t& v) {
  std::int64_t quotient = v / 13;  // towards zero
  int limb = static_cast<int>(v - 13 * quotient);
  if (limb > 6) {
    limb -= 13;
    ++quotient;
  } else if (limb < -6) {
    limb += 13;
    --quotient;
  }
  if (limb == 5) {
    limb = -8;
    ++quotient;
  } else if (limb == -5) {
    limb = 8;
    --quotient;
  }
  v = quotient;
  return limb;
}

// The balanced digit of base 2^width, in [-2^(width-1), 2^(width-1)). Range: 1 <= width <= 31, |v| <= 2^62.
OZFP4_HD int take_balanced_digit(std::int64_t& v, int width) {
  const std::int64_t half = std::int64_t(1) << (width - 1);
  const std::int64_t shifted = v + half;
  const std::int64_t digit = (shifted & ((std::int64_t(1) << width) - 1)) - half;
  v = shifted >> width;
  return static_cast<int>(digit);
}

}  // namespace ozfp4
