// Residue of one scaled integer modulo m, exact, in floating point: FP32 for byte-sized moduli (both CPU vectors and
// GPUs run FP32 at full rate, integer multiply-high at half of it or less), FP64 for the CPU's moduli of up to 23.5 bits.
//
// The integer v, |v| <= 2^53, is cut into pieces, the pieces are multiplied by balanced weights (powers of two mod m) and
// summed, and the sum x is reduced by r = x - rint(x / m) * m. Every intermediate value is an integer below 2^24 (2^53),
// so nothing is rounded, with or without fused multiply-add, except the quotient x * fl(1/m), whose absolute error is
// below 1/(2m). For odd m no x / m lies closer than 1/(2m) to a half-integer, so the quotient rounds to the right
// integer; for even m a tie may go either way, and both ways give the same residue in [0, m).
#pragma once

#include <cstdint>

#include "arith/host_device.hpp"

namespace ozfp4 {

// rint by the magic-number addition. Range: |x| <= 2^22 (float), 2^51 (double).
OZFP4_HD float round_to_integer(float x) {
  constexpr float magic = 12582912.0f;  // 1.5 * 2^23
  return (x + magic) - magic;
}
OZFP4_HD double round_to_integer(double x) {
  constexpr double magic = 6755399441055744.0;  // 1.5 * 2^52
  return (x + magic) - magic;
}

// x reduced towards [-m/2, m/2]. Range: |x| <= 2^24 - m (float), 2^53 - m (double), both x and m integers, 4 <= m <= 2^8
// (float), 4 <= m <= 2^24 (double): then x / m is in the range of round_to_integer (for m = 2 and 3 that takes |x| <=
// 2^22 m, 2^51 m), and rint(x/m) * m and the difference are exact. The result is congruent to x, and
// |result| <= m/2 + 2; it is at most m/2 when |x| < 2^22 (float), 2^51 (double).
template <class Real>
OZFP4_HD Real reduce(Real x, Real modulus, Real inverse) {
  return x - round_to_integer(x * inverse) * modulus;
}

// Four pieces of an integer: v = p[0] + 2^13 p[1] + 2^26 p[2] + 2^39 p[3], the lower three in [-2^12, 2^12).
struct Pieces {
  float p[4];
};

// Range: |v| <= 2^53; then |p[3]| <= 2^14.
OZFP4_HD Pieces split_integer(std::int64_t v) {
  constexpr std::int64_t half = 1 << 12;
  const std::int64_t u = v + half * (1 + (std::int64_t(1) << 13) + (std::int64_t(1) << 26));
  constexpr std::int64_t mask = (1 << 13) - 1;
  return {{static_cast<float>(static_cast<std::int32_t>(u & mask) - half),
           static_cast<float>(static_cast<std::int32_t>((u >> 13) & mask) - half),
           static_cast<float>(static_cast<std::int32_t>((u >> 26) & mask) - half),
           static_cast<float>(static_cast<std::int32_t>(u >> 39))}};
}

// Constants of a byte-sized modulus, m in [2, 256]. Weights are 2^13, 2^26, 2^39 mod m, balanced (|w| <= m/2).
struct SmallModulus {
  float modulus;
  float inverse;
  float weight[3];
};

// The residue of least magnitude, of ±m/2 either one. |x| <= 2^12 + 2 * 2^12 * 2^7 + 2^14 * 2^7 = 3,149,824, so the quotient's
// error is below 3,149,824 * 2^-23 / m < 0.376 / m.
OZFP4_HD float least_residue_of(const Pieces& v, const SmallModulus& m) {
  const float x = v.p[0] + v.p[1] * m.weight[0] + v.p[2] * m.weight[1] + v.p[3] * m.weight[2];
  return reduce(x, m.modulus, m.inverse);
}

// The residue in [0, m).
OZFP4_HD float residue_of(const Pieces& v, const SmallModulus& m) {
  const float r = least_residue_of(v, m);
  return r < 0.0f ? r + m.modulus : r;
}

// The residue in [-m/2, m/2).
OZFP4_HD float balanced_residue_of(const Pieces& v, const SmallModulus& m) {
  const float r = least_residue_of(v, m);
  return 2.0f * r >= m.modulus ? r - m.modulus : r;
}

// An integer in two pieces: 2^27 high + low, |low| <= 2^26.
struct LargePieces {
  double high, low;
};

// The integer nearest to x, ties to even. Range: |x| <= 2^53; then |high| <= 2^26. What is added to 1.5 * 2^79 is rounded to a
// multiple of 2^27, which is even, and is 0 for |x| <= 2^26; so the difference from x is exact, and rounds as x does.
OZFP4_HD LargePieces large_pieces(double x) {
  constexpr double magic = 0x1.8p79;
  const double above = (x + magic) - magic;
  return {above * 0x1p-27, round_to_integer(x - above)};
}

// Constants of an odd modulus below 2^23.5. The weight is 2^27 mod m, balanced.
struct LargeModulus {
  double modulus;
  double inverse;
  double weight;
};

constexpr LargeModulus make_large_modulus(std::int64_t m) {
  const std::int64_t power = (std::int64_t(1) << 27) % m;
  return {static_cast<double>(m), 1.0 / static_cast<double>(m), static_cast<double>(power > m / 2 ? power - m : power)};
}

// The balanced residue, |r| <= (m - 1) / 2. Range: of |v| <= 2^53, m odd, m < 2^23.5: |x| <= 2^26 * 2^22.5 + 2^26 < 2^49.
OZFP4_HD double balanced_residue_of(const LargePieces& v, const LargeModulus& m) {
  return reduce(v.high * m.weight + v.low, m.modulus, m.inverse);
}
OZFP4_HD double balanced_residue_of(std::int64_t v, const LargeModulus& m) {
  return balanced_residue_of(large_pieces(static_cast<double>(v)), m);
}

}  // namespace ozfp4
