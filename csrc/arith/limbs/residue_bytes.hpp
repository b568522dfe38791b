// Residue in [0, m) of one scaled integer for byte-sized moduli, as a GPU likes it: two byte-wise dot products (dp4a), one
// FP32 and one integer multiply-add. arith/limbs/residue.hpp gives the CPU the same residues.
//
// The integer is made nonnegative, u = v + offset, and cut into bytes b_j; weights are w_j = 2^(8 j) mod m in [0, m). Then
//     x = sum_j b_j w_j + (-offset mod m)  =  v (mod m),     0 <= x <= (7 * 255 + 1) (m - 1) < 2^19.
// The dot products start from `preset`, the bit pattern of the float 2^23 + d with x's constant term added; floats in
// [2^23, 2^24) count up by one, so the result is the bit pattern of the float X = 2^23 + d + x. The quotient is
//     Q = rn(X * inverse + shift),  one fused multiply-add, in [2^23 + 1, 2^24) where floats are integers,
// and make_byte_modulus chooses d, inverse and shift so that Q = 2^23 + 1 + floor(x / m) exactly. It checks this:
//     X * inverse + shift = 2^23 + 1 + x / m + t + x e / m,  inverse = (1 + e) / m,  t = (2^23 + d) inverse + shift - 2^23 - 1,
// and x / m lies in floor(x / m) + {0, 1/m, ..., (m - 1)/m}. So rounding to nearest gives the floor for every x if
//     -1/2 + |x e| / m < t < -1/2 + 1/m - |x e| / m,   that is,   margin < (t + 1/2) m < 1 - margin,  margin = max |x e|.
// The check runs in FP64, whose rounding is far below the slack it keeps. The bit pattern of Q is that of 2^23 plus 1 + floor(x /
// m). So modulo 256
//     bits(X) - m bits(Q) = d + x - m - m floor(x / m) = d - m + (x mod m),
// and d is a number that is m modulo 256: the low byte is x mod m.
//
// Every modulus in [3, 255] has such constants but the powers of two 8 .. 128; modulo 256 the low byte needs no quotient.
#pragma once

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "arith/float_fields.hpp"
#include "arith/host_device.hpp"

namespace ozfp4 {

// The integer plus its offset: 2^53 in two words, 2^30 in one.
struct IntegerBytes {
  std::uint32_t low, high;
};

inline constexpr std::uint64_t kTwoWordOffset = std::uint64_t(1) << 53;
inline constexpr std::uint64_t kOneWordOffset = std::uint64_t(1) << 30;
inline constexpr int kOneWordBits = 30;  // capacity up to which one word serves

// Range: |v| <= 2^53. Other values (of non-finite entries) give bytes of no meaning, but residues still in [0, m).
OZFP4_HD IntegerBytes bytes_of(std::int64_t v) {
  const auto u = static_cast<std::uint64_t>(v);
  constexpr auto high_offset = static_cast<std::uint32_t>(kTwoWordOffset >> 32);  // its lower word is 0: no carry
  return {static_cast<std::uint32_t>(u), static_cast<std::uint32_t>(u >> 32) + high_offset};
}

// Range: |v| <= 2^30; otherwise as above.
OZFP4_HD IntegerBytes bytes_of(std::int32_t v) {
  return {static_cast<std::uint32_t>(v) + static_cast<std::uint32_t>(kOneWordOffset), 0u};
}

struct ByteModulus {
  std::uint32_t weight_low = 0, weight_high = 0;  // w_0 .. w_3 and w_4 .. w_6 as bytes; w_7 is 0
  std::uint32_t preset = 0;
  float inverse = 0, shift = 0;
  std::uint32_t negated = 0;  // -m
};

// sum + dot product of four unsigned bytes.
OZFP4_HD std::uint32_t dot_bytes(std::uint32_t a, std::uint32_t b, std::uint32_t sum) {
#if defined(__CUDA_ARCH__)
  return __dp4a(a, b, sum);
#else
  for (int j = 0; j < 32; j += 8) sum += ((a >> j) & 255u) * ((b >> j) & 255u);
  return sum;
#endif
}

OZFP4_HD float fused_multiply_add(float a, float b, float c) {
#if defined(__CUDA_ARCH__)
  return __fmaf_rn(a, b, c);
#else
  return std::fmaf(a, b, c);
#endif
}

// A word whose low byte is the residue in [0, m); the other bytes are of no meaning. Range: Words as the modulus was
// made for, any bytes.
template <int Words>
OZFP4_HD std::uint32_t residue_byte(const IntegerBytes& v, const ByteModulus& m) {
  std::uint32_t bits = dot_bytes(v.low, m.weight_low, m.preset);
  if (Words == 2) bits = dot_bytes(v.high, m.weight_high, bits);
  const float quotient = fused_multiply_add(float_from_bits<float>(bits), m.inverse, m.shift);
  return bits + float_bits(quotient) * m.negated;
}

// Range: m in [3, 256]; throws std::invalid_argument for the powers of two 8 .. 128 (take 256 and reduce the byte).
inline ByteModulus make_byte_modulus(int m, int words) {
  ByteModulus constants;
  const std::uint64_t offset = words == 2 ? kTwoWordOffset : kOneWordOffset;
  const auto modulus = static_cast<std::uint64_t>(m);
  const int bytes = words == 2 ? 7 : 4;
  std::uint64_t power = 1;
  for (int j = 0; j < bytes; ++j, power = power * 256 % modulus) {
    std::uint32_t& word = j < 4 ? constants.weight_low : constants.weight_high;
    word |= static_cast<std::uint32_t>(power % modulus) << (8 * (j % 4));
  }
  constexpr double two_23 = 8388608.0;
  const auto constant = static_cast<std::uint32_t>((modulus - offset % modulus) % modulus);
  constants.negated = 0u - static_cast<std::uint32_t>(m);
  if (m == 256) {  // any quotient will do: the low byte of x is the residue already
    constants.preset = 0x4B000000u + constant;
    return constants;
  }
  constexpr double most = 0.49;  // of 1/2: the slack
  double best = most;
  float inverse = 1.0f / static_cast<float>(m);
  for (int up = 0; up < 2; ++up) inverse = std::nextafterf(inverse, 1.0f);
  for (int candidate = 0; candidate < 5; ++candidate, inverse = std::nextafterf(inverse, 0.0f)) {
    const double margin = (7 * 255 + 1) * (m - 1.0) * std::fabs(static_cast<double>(inverse) * m - 1.0);
    for (int d = m; d < 256 * 256; d += 256) {
      const double product = (two_23 + d) * static_cast<double>(inverse);
      const double down = std::round(2 * (product + 0.5 - 0.5 / m)) / 2;  // the shift is a multiple of 1/2
      const double place = (product - down + 0.5) * m;
      const double cost = std::fabs(place - 0.5) + margin;
      if (cost >= best) continue;
      best = cost;
      constants.preset = 0x4B000000u + static_cast<std::uint32_t>(d) + constant;
      constants.inverse = inverse;
      constants.shift = static_cast<float>(two_23 + 1 - down);
    }
  }
  if (best >= most) throw std::invalid_argument("no residue constants for modulus " + std::to_string(m));
  return constants;
}

}  // namespace ozfp4
