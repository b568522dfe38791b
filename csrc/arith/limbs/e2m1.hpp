// E2M1 (FP4): four bits, sign | two exponent bits | one mantissa bit.
// The method stores the limb c in S = {0, ±1, ±2, ±3, ±4, ±6, ±8, ±12} as the E2M1 value c / 2 (paper, section III).
#pragma once

#include "arith/host_device.hpp"

namespace ozfp4 {

// Largest limb magnitude in S; products of two limbs are at most 144.
inline constexpr int kE2m1MaxLimb = 12;

// Limb of a code. Precondition: code in [0, 15]; codes 0 and 8 (minus zero) both give 0.
OZFP4_HD int e2m1_decode(unsigned code) {
  const unsigned magnitude_code = code & 7u;
  // Doubled magnitudes: codes 0..3 are 0, 1, 2, 3; above that the value is (2 + m) * 2^(e - 1).
  const int magnitude = magnitude_code < 4 ? static_cast<int>(magnitude_code)
                                           : static_cast<int>((2u + (magnitude_code & 1u)) << ((magnitude_code >> 1) - 1));
  return (code & 8u) ? -magnitude : magnitude;
}

OZFP4_HD bool e2m1_has(int limb) {
  const int a = limb < 0 ? -limb : limb;
  return a <= 4 || a == 6 || a == 8 || a == 12;
}

// Code of a limb. Precondition: limb in S. Zero is always code 0, never minus zero.
OZFP4_HD unsigned e2m1_encode(int limb) {
  const unsigned a = static_cast<unsigned>(limb < 0 ? -limb : limb);
  const unsigned code = a < 4 ? a : (a == 4 ? 4u : a == 6 ? 5u : a == 8 ? 6u : 7u);
  return limb < 0 ? (code | 8u) : code;
}

}  // namespace ozfp4
