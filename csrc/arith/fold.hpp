// Fold: reduce a 32-bit accumulator modulo a small m. Quotient by one multiply-high and one shift, no correction.
//
// For 2 <= m <= 2^31 let s be the integer with 2^s < m <= 2^(s+1) and magic = ceil(2^(32+s) / m), which lies in
// [2^31, 2^32) and so fits a word. Let e = magic * m - 2^(32+s), 0 <= e < m <= 2^(s+1). For 0 <= x < 2^31
//     x * magic / 2^(32+s) = x / m + x e / (m 2^(32+s)),   and   x e < 2^31 2^(s+1) = 2^(32+s),
// so the excess is below 1/m, less than the distance of x / m from the next integer above it (x / m is a multiple of
// 1/m): the floor is unchanged, and q = (x * magic) >> (32 + s) is floor(x / m) exactly.
#pragma once

#include <cstdint>

#include "arith/host_device.hpp"

namespace ozfp4 {

struct fold_constants {
  std::uint32_t modulus;
  std::uint32_t magic;
  std::uint32_t shift;
  std::uint32_t offset;   // the multiple of modulus that makes a signed accumulator nonnegative; 0 for unsigned ones
  std::uint32_t negated;  // -modulus: x + q * negated is one instruction, x - q * modulus two
};

// Constants for a signed accumulator |x| <= bound (bound 0: for an unsigned one, 0 <= x < 2^31).
// Range: 2 <= modulus <= 2^31, offset + bound < 2^31, that is about bound < 2^30; is_foldable tells.
constexpr fold_constants make_fold(std::uint32_t modulus, std::uint32_t bound = 0) {
  std::uint32_t shift = 0;
  while ((std::uint64_t(2) << shift) < modulus) ++shift;
  const std::uint64_t numerator = std::uint64_t(1) << (32 + shift);
  const std::uint64_t offset = (std::uint64_t(bound) + modulus - 1) / modulus * modulus;
  return {modulus, static_cast<std::uint32_t>((numerator + modulus - 1) / modulus), shift,
          static_cast<std::uint32_t>(offset), 0u - modulus};
}

constexpr bool is_foldable(std::uint32_t modulus, std::uint64_t bound) {
  return modulus >= 2 && modulus <= (std::uint32_t(1) << 31) &&
         (bound + modulus - 1) / modulus * modulus + bound < (std::uint64_t(1) << 31);
}

OZFP4_HD std::uint32_t multiply_high(std::uint32_t x, std::uint32_t y) {
#if defined(__CUDA_ARCH__)
  return __umulhi(x, y);
#else
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(x) * y) >> 32);
#endif
}

// floor(x / m). Range: 0 <= x < 2^31.
OZFP4_HD std::uint32_t fold_quotient(std::uint32_t x, const fold_constants& c) {
  return multiply_high(x, c.magic) >> c.shift;
}

// x mod m in [0, m). Range: 0 <= x < 2^31.
OZFP4_HD std::uint32_t fold_unsigned(std::uint32_t x, const fold_constants& c) {
  return x + fold_quotient(x, c) * c.negated;
}

// x mod m in [0, m). Range: |x| <= the bound that the constants were made for.
OZFP4_HD std::uint32_t fold_signed(std::int32_t x, const fold_constants& c) {
  return fold_unsigned(static_cast<std::uint32_t>(x) + c.offset, c);
}

}  // namespace ozfp4
