// Fold: reduce a 32-bit accumulator modulo a small m. Quotient by one multiply-high and one shift, no correction.
//
// For 2 <= m <= 2^31 let s be the integer with 2^s < m <= 2^(s+1) and magic = ceil(2^(32+s) / m), which lies in
// [2^31, 2^32) and so fits a word. Let e = magic * m - 2^(32+s), 0 <= e < m <= 2^(s+1). For 0 <= x < 2^31
//     x * magic / 2^(32+s) = x / m + x e / (m 2^(32+s)),   and   x e < 2^31 2^(s+1) = 2^(32+s),
// so the excess is below 1/m, less than the distance of x / m from the next integer above it (x / m is a multiple of 1/m). The
// floor is unchanged, and q = (x * magic) >> (32 + s) is floor(x / m) exactly.
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
// Precondition: 2 <= modulus <= 2^31, offset + bound < 2^31, that is about bound < 2^30.
constexpr fold_constants make_fold(std::uint32_t modulus, std::uint32_t bound = 0) {
  std::uint32_t shift = 0;
  while ((std::uint64_t(2) << shift) < modulus) ++shift;
  const std::uint64_t numerator = std::uint64_t(1) << (32 + shift);
  const std::uint64_t offset = (std::uint64_t(bound) + modulus - 1) / modulus * modulus;
  return {modulus, static_cast<std::uint32_t>((numerator + modulus - 1) / modulus), shift, static_cast<std::uint32_t>(offset),
          0u - modulus};
}

OZFP4_HD std::uint32_t multiply_high(std::uint32_t x, std::uint32_t y) {
#if defined(__CUDA_ARCH__)
  return __umulhi(x, y);
#else
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(x) * y) >> 32);
#endif
}

// floor(x / m). Precondition: 0 <= x < 2^31.
OZFP4_HD std::uint32_t fold_quotient(std::uint32_t x, const fold_constants& c) { return multiply_high(x, c.magic) >> c.shift; }

// x mod m in [0, m). Precondition: 0 <= x < 2^31.
OZFP4_HD std::uint32_t fold_unsigned(std::uint32_t x, const fold_constants& c) { return x + fold_quotient(x, c) * c.negated; }

// x mod m in [0, m). Precondition: |x| <= the bound that the constants were made for.
OZFP4_HD std::uint32_t fold_signed(std::int32_t x, const fold_constants& c) {
  return fold_unsigned(static_cast<std::uint32_t>(x) + c.offset, c);
}

// ---- Folding to a byte, 2 <= m <= 256 ------------------------------------------------------------------------------
//
// The fastest way on Hopper, where multiply-high runs at half the rate of a multiply-add: a dot product of bytes, one FP32
// multiply-add that rounds down, one integer multiply-add. With the bytes x_i of x and w_i = 2^(8 i) mod m
//     y = sum x_i w_i = x (mod m),   0 <= y <= 255 (1 + 3 * 255) < 2^18.
// Let b be a multiple of 256 such that m divides 2^23 + b, and J = (2^23 + b) / m. Let F = 2^23 + b + y, an integer below 2^24,
// so exact in FP32, with the bits 0x4B000000 + b + y. Let v be the smallest FP32 number >= 1/m. Then
//     F v + (2^23 - J) = 2^23 + y / m + F (v - 1/m),
// and the last term is nonnegative and below 1/m, the distance of y / m from the next integer at least. FP32 numbers in
// [2^23, 2^24) are the integers, so rounding down gives t = 2^23 + floor(y / m) exactly, with bits 0x4B000000 + q, and
//     bits(F) - m bits(t) = b + (y - m q) + 0x4B000000 (1 - m)   (mod 2^32)
// has the residue as its low byte. is_byte_fold checks F (v - 1/m) < 1/m; it holds for every modulus.
struct byte_fold {
  std::uint32_t weights = 0;  // byte i: w_i
  std::uint32_t start = 0;    // bits of 2^23 + b
  float inverse = 0;          // v
  float center = 0;           // 2^23 - J
};

constexpr byte_fold make_byte_fold(std::uint32_t modulus) {
  byte_fold c;
  std::uint32_t power = 1;
  for (int i = 0; i < 4; ++i) {
    c.weights |= power << (8 * i);
    power = power * 256 % modulus;
  }
  const std::uint32_t one = std::uint32_t(1) << 23;
  std::uint32_t b = 0;
  while ((one + b) % modulus != 0) b += 256;
  c.start = 0x4B000000u + b;
  c.center = static_cast<float>(one - (one + b) / modulus);
  // 1/m = (2^32 / m) 2^-32, rounded up to 24 significant bits; in powers of two, since constexpr has no nextafter.
  std::uint32_t scale = 0;
  while ((std::uint64_t(1) << (24 + scale)) / modulus < (std::uint64_t(1) << 23)) ++scale;
  const std::uint64_t mantissa = ((std::uint64_t(1) << (24 + scale)) + modulus - 1) / modulus;
  double inverse = static_cast<double>(mantissa);
  for (std::uint32_t i = 0; i < 24 + scale; ++i) inverse *= 0.5;
  c.inverse = static_cast<float>(inverse);
  return c;
}

// The conditions of the proof above, whoever made the constants.
constexpr bool is_byte_fold(const byte_fold& c, std::uint32_t modulus) {
  if (modulus < 2 || modulus > 256 || c.start < 0x4B000000u) return false;
  std::uint32_t power = 1, weight_sum = 0;
  for (int i = 0; i < 4; ++i) {
    if (((c.weights >> (8 * i)) & 255) != power) return false;
    weight_sum += power;
    power = power * 256 % modulus;
  }
  const std::uint32_t one = std::uint32_t(1) << 23, b = c.start - 0x4B000000u, largest = one + b + 255 * weight_sum;
  if (b >= one || b % 256 != 0 || (one + b) % modulus != 0 || largest >= 2 * one) return false;
  const double excess = static_cast<double>(c.inverse) * modulus - 1;  // exact: 24 and 9 bits
  return c.center == static_cast<float>(one - (one + b) / modulus) && excess >= 0 && largest * excess < 1;
}

#if defined(__CUDACC__)
// A word with the low byte x mod m; `negated` is -m modulo 2^32. Precondition: any x, 2 <= m <= 256.
__device__ __forceinline__ std::uint32_t fold_to_byte(std::uint32_t x, const byte_fold& c, std::uint32_t negated) {
  const std::uint32_t sum = __dp4a(x, c.weights, c.start);
  const std::uint32_t quotient = __float_as_uint(__fmaf_rd(__uint_as_float(sum), c.inverse, c.center));
  return quotient * negated + sum;
}
// The excess of fold_to_byte's word over the residue, modulo 2^32.
OZFP4_HD std::uint32_t byte_fold_excess(const byte_fold& c, std::uint32_t modulus) { return c.start - 0x4B000000u * modulus; }
#endif

}  // namespace ozfp4
