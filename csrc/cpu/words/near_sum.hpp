// A sum of products of integers by parts that machine words and FP64 numbers sum. These are its lower word, which wraps; a sum in
// FP64, which is near it; and its residues by small odd numbers, the bridges, which connect the two.
//
// V = sum x_k y_k over k < K, L = V mod 2^64 in [0, 2^64), A an FP64 sum with |A - V| <= E, and W = (V - L) / 2^64, an integer.
// Let M be the product of the bridges, 1 without any, and h = rint(fl(A - fl(L)) / 2^64). With N = ||x|| ||y|| >= sum |x_k y_k|,
// every order of summation, with products rounded or fused, has
//     E <= K u N (1 + 2^-20),   u = 2^-53, K <= 2^13,
// as each product passes through its own rounding and K - 1 additions at most, the first of which, to 0, is exact.
// L rounds by 2^11 at most and the difference by u (|A| + 2^64), so that
//     |W - h| <= 1/2 + (E + u (N + E) + 2^12) / 2^64.
// Let near_error below exceed what stands in brackets. Without bridges it has to be below 2^63: |W - h| < 1, so W = h. With them
// it has to be at most 2^62 M. Then |W - h| <= M / 4 + 1/2 <= (M - 1) / 2, so that W - h is the one number of this size that is
// (V - L) / 2^64 - h modulo the bridges. Hence V = 2^64 h + 2^64 (W - h) + L, exactly, whatever the rounding of A was.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>

#include "arith/float_fields.hpp"
#include "arith/host_device.hpp"
#include "cpu/crt/round_pieces.hpp"
#include "cpu/encode/residue.hpp"

namespace ozfp4 {

inline constexpr int kMostBridges = 2;
inline constexpr int kMostNearCapacity = 76;  // bits of an integer
// Residues of 2^19 + 2 at most have sums below 2^51.
inline constexpr std::int64_t kMostNearProducts = 1 << 12;
// N: integers of so many bits hold V, and exact_residue_of below every h.
inline constexpr int kMostNearBits = 160;

// Odd numbers that differ by 2 are coprime.
inline constexpr std::int64_t kBridge[kMostBridges] = {1048573, 1048571};

// v modulo m, balanced. Precondition: |v| < 2^62.
constexpr std::int64_t balanced_modulo(std::int64_t v, std::int64_t m) {
  const std::int64_t r = ((v % m) + m) % m;
  return r > m / 2 ? r - m : r;
}

// base^exponent modulo m, balanced. Precondition: |base| < 2^31, m < 2^31.
constexpr std::int64_t balanced_power(std::int64_t base, int exponent, std::int64_t m) {
  std::int64_t x = 1;
  for (int i = 0; i < exponent; ++i) x = balanced_modulo(x * base, m);
  return x;
}

struct Bridge {
  double modulus, inverse;
  double word;          // 2^32 modulo it
  double inverse_word;  // 2^-64
};

constexpr Bridge bridge(std::int64_t m) {
  return {static_cast<double>(m), 1.0 / static_cast<double>(m), static_cast<double>(balanced_power(2, 32, m)),
          static_cast<double>(balanced_power((m + 1) / 2, 64, m))};
}
inline constexpr Bridge kBridges[kMostBridges] = {bridge(kBridge[0]), bridge(kBridge[1])};
// 1 / kBridge[0] modulo kBridge[1]: 1 / 2.
inline constexpr double kInverseOfFirst = static_cast<double>(balanced_modulo((kBridge[1] + 1) / 2, kBridge[1]));
static_assert(kBridge[0] - kBridge[1] == 2 && kBridge[0] % 2 == 1 && kBridge[0] < 1 << 20);

// At least E + u (N + E) + 2^12, from at least N^2. Precondition: 1 <= k <= kMostNearProducts, finite.
inline double near_error(double norms_squared, std::int64_t k) {
  return (static_cast<double>(k + 2) * 0x1p-53 * std::sqrt(norms_squared)) * (1.0 + 0x1p-10) + 0x1p13;
}

// How many bridges a product of lines with these squared norms needs, nothing where all are too few. Precondition: as above.
inline std::optional<int> bridges_needed(double norms_squared, std::int64_t k) {
  if (!(norms_squared <= std::ldexp(1.0, 2 * kMostNearBits))) return std::nullopt;
  const double error = near_error(norms_squared, k);
  if (error < 0x1.ffp62) return 0;
  if (error <= 0x1p62 * kBridges[0].modulus) return 1;
  if (error <= 0x1p62 * kBridges[0].modulus * kBridges[1].modulus) return 2;
  return std::nullopt;
}

// An entry in parts that sums of products are made of: the integer in FP64, where it has at most 53 significant bits, and modulo
// 2^64.
// The integer is round(z), ties to even. Precondition: |z| <= 2^kMostNearCapacity. By additions of 1.5 * 2^52, as
// scaled_wide_by_multiplication. Number and Word: FP64 and 64 bits, or vectors of such.
template <class Number, class Word>
OZFP4_HD void split_near_entry(const Number& z, Number& value, Word& word) {
  constexpr double magic = 0x1.8p52;
  constexpr std::uint64_t magic_bits = 0x4338000000000000u;
  const Number upper_sum = z * 0x1p-32 + magic, upper = upper_sum - magic;
  const Number lower_sum = (z - upper * 0x1p32) + magic;
  Word upper_bits, lower_bits;
  memcpy(&upper_bits, &upper_sum, sizeof upper_bits);
  memcpy(&lower_bits, &lower_sum, sizeof lower_bits);
  value = upper * 0x1p32 + (lower_sum - magic);
  word = ((upper_bits - magic_bits) << 32) + (lower_bits - magic_bits);
}

// The residue of 2^32 upper + lower, |r| <= m/2. Precondition: |upper| at most 2^(kMostNearCapacity - 32), |lower| at most 2^32.
OZFP4_HD double residue_of_halves(double upper, double lower, const Bridge& m) {
  return reduce(reduce(upper, m.modulus, m.inverse) * m.word + lower, m.modulus, m.inverse);
}

// A residue of the integer, |r| <= m/2. Precondition: an integer with |value| <= 2^kMostNearCapacity.
OZFP4_HD double near_residue(double value, const Bridge& m) {
  const double upper = round_to_integer(value * 0x1p-32);
  return residue_of_halves(upper, value - upper * 0x1p32, m);
}

// A residue of h, |r| <= m/2. Precondition: an integer with |h| <= 2^97: the quotient is off by less than 2^27, the first
// remainder is an integer below 2^48, and the fused operation therefore exact.
OZFP4_HD double exact_residue_of(double h, const Bridge& m) {
  return reduce(fused_multiply_add(-std::nearbyint(h * m.inverse), m.modulus, h), m.modulus, m.inverse);
}

// V from L, A and sums of residues, one for each bridge: multiples of 2^64 and of 2^52, and low in [0, 2^52). Precondition: as at
// the top, |residue| <= 2^51.
template <int Bridges>
OZFP4_HD SumParts join_near_sum(std::uint64_t word, double near, const double* residue) {
  const double upper = small_to_double(word >> 32), lower = small_to_double(word & 0xFFFFFFFFu);
  const double h = std::nearbyint((near - (upper * 0x1p32 + lower)) * 0x1p-64);
  double between[kMostBridges] = {};  // W - h modulo each bridge, |r| <= m/2
  for (int i = 0; i < Bridges; ++i) {
    const Bridge& m = kBridges[i];
    const double rest = reduce(residue[i], m.modulus, m.inverse) - residue_of_halves(upper, lower, m);
    between[i] = reduce(rest * m.inverse_word - exact_residue_of(h, m), m.modulus, m.inverse);
  }
  if constexpr (Bridges > 1) {
    const Bridge& m = kBridges[1];
    between[0] += kBridges[0].modulus * reduce((between[1] - between[0]) * kInverseOfFirst, m.modulus, m.inverse);
  }
  return {h * 0x1p64, (small_to_double(word >> 52) + between[0] * 0x1p12) * 0x1p52,
          small_to_double(word & ((std::uint64_t(1) << 52) - 1))};
}

}  // namespace ozfp4
