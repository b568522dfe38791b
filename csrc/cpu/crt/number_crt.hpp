// Direct CRT of one entry in FP64 numbers, from up to six residues below 2^23.5. CPUs without vectors of long products compute
// four or eight at a time.
//
// With P and the weights w_i < P of arith/wide/crt.hpp, both cut into N balanced digits of 24 bits, w_i = sum_j w_ij 2^(24 j),
// |w_ij| <= 2^23, as many as there are residues,
//     x = S - q P = sum_j c_j 2^(24 j),   S = sum_i r_i w_i,   c_j = sum_i r_i w_ij - q p_j,   q = round(S / P).
// Every product and sum is an integer below 6 * 2^23.5 * 2^23 + 2^26.1 * 2^23 < 2^50.1 (q <= S / P + 1/2 with S / P < sum_i r_i
// < 2^26.1), which FP64 holds, fused or not.
//
// Quotient: t = sum_i r_i f_i, f_i = fl(w_i / P) < 1, off by 2^-50 at most, that is 6 * 2^23.5 * 2^-50 < 2^-23.9 in all. Up to
// twelve roundings of numbers below 2^26.1 add 12 * 2^-27 < 2^-23.4. So |t - S / P| < 2^-22, and where t lies further than 2^-20
// from a half-integer, rint(t) is q. Elsewhere, for one random entry in 2^19, the result may be off by P and is not vouched for.
//
// Digits: what exceeds 24 bits goes to the next digit, below 2^50.1 + 2^27; then |c_j| <= 2^23, of the last one as well, because
// |x| < P / 2 < 2^(24 N - 2). The last digit of P, at most 2^23, is what P's length asks for. So digits 0 and 1, 2 and 3, 4 and 5
// make numbers below 2^48, of which each is smaller than the unit of the next one, where that is not 0.
#pragma once

#include <cstdint>
#include <vector>

#include "arith/host_device.hpp"
#include "arith/wide/crt.hpp"
#include "cpu/crt/lanes.hpp"
#include "cpu/crt/round_pieces.hpp"
#include "cpu/encode/residue.hpp"

namespace ozfp4 {

inline constexpr int kDigitBits = 24;
inline constexpr int kLeastNumbers = 2, kMostNumbers = 6;  // of moduli
inline constexpr double kMostNumber = 11863283;            // of a residue and 1: 2^23.5

// Constants of one prefix of the moduli; digits beyond those of P are 0.
struct NumberCrt {
  int count = 0;  // 0: not usable
  double fraction[kMostNumbers] = {};
  double weight[kMostNumbers][kMostNumbers] = {};
  double product[kMostNumbers] = {};
};

// The sum of three numbers that the integer is: as sum_parts has them, each of any sign. Precondition: N = count, residues in [0,
// m).
template <int N>
OZFP4_HD SumParts crt_in_numbers(const double (&residue)[N], const NumberCrt& constants, bool& is_uncertain) {
  static_assert(N >= kLeastNumbers && N <= kMostNumbers, "no constants have so many moduli");
  constexpr double unit = 0x1p24, inverse_unit = 0x1p-24;
  double ratio = residue[0] * constants.fraction[0];
  for (int i = 1; i < N; ++i) ratio += residue[i] * constants.fraction[i];
  const double quotient = round_to_integer(ratio), distance = ratio - quotient;
  is_uncertain = distance > 0.5 - 0x1p-20 || distance < -0.5 + 0x1p-20;
  double digit[kMostNumbers] = {};
  for (int j = 0; j < N; ++j) {
    double sum = residue[0] * constants.weight[0][j];
    for (int i = 1; i < N; ++i) sum += residue[i] * constants.weight[i][j];
    digit[j] = sum - quotient * constants.product[j];
  }
  // Added to 1.5 * 2^76, a number below 2^75 is rounded to a multiple of 2^24.
  constexpr double magic = 0x1.8p76;
  for (int j = 0; j + 1 < N; ++j) {
    const double carry = (digit[j] + magic) - magic;
    digit[j] -= carry;
    digit[j + 1] += carry * inverse_unit;
  }
  // A digit that is -0 is +0 with a carry of +0 added to it, and so is the first one with the second.
  return {(digit[5] * unit + digit[4]) * 0x1p96, (digit[3] * unit + digit[2]) * 0x1p48, digit[1] * unit + digit[0]};
}

// Digit j of a number that is not negative, less than half of the unit or a carry to the next one.
template <int Words>
constexpr double balanced_digit_of(const WideInt<Words>& x, int j, std::int64_t& carry) {
  std::int64_t digit = carry;
  for (int bit = 0; bit < kDigitBits; ++bit) {
    const int at = j * kDigitBits + bit;
    if (at < 32 * Words) digit += static_cast<std::int64_t>(x.word[at / 32] >> (at % 32) & 1u) << bit;
  }
  carry = digit >= (std::int64_t(1) << (kDigitBits - 1)) ? 1 : 0;
  return static_cast<double>(digit - (carry << kDigitBits));
}

// For the moduli of these constants of the CRT; count = 0 where they are too few, too many or too large.
template <int Words>
NumberCrt make_number_crt(const CrtConstants<Words>& constants, const std::vector<std::int64_t>& moduli) {
  NumberCrt numbers;
  const int count = static_cast<int>(moduli.size());
  if (count < kLeastNumbers || count > kMostNumbers) return numbers;
  for (const std::int64_t m : moduli) {
    if (static_cast<double>(m) > kMostNumber) return numbers;
  }
  const auto cut = [count](const WideInt<Words>& x, double (&digits)[kMostNumbers]) {
    std::int64_t carry = 0;
    for (int j = 0; j < count; ++j) digits[j] = balanced_digit_of(x, j, carry);
    return carry == 0;  // else the last digit is more than half of the unit
  };
  if (!cut(constants.product.number, numbers.product)) return numbers;
  for (int i = 0; i < count; ++i) {
    const WideInt<Words>& weight = constants.weight[static_cast<std::size_t>(i)];
    if (!cut(weight, numbers.weight[i])) return numbers;
    numbers.fraction[i] = wide_to_double(weight) * constants.product.inverse;
  }
  numbers.count = count;
  return numbers;
}

// Integers of n entries, from residues by modulus g at residues + g * pitch; refused where the pair may not be the integer.
// Precondition: 0 <= n <= kLanes, constants of some moduli.
void number_lanes(const NumberCrt& constants, const std::uint32_t* residues, std::int64_t pitch, int n, LanePairs& pairs);

}  // namespace ozfp4
