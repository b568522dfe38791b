// Direct CRT from dot products of bytes: the constants for which a CPU's instructions for them make integers below 2^125,
// or the upper bits of longer ones.
//
// Let P be the product of the moduli and k the shift that makes P' = P * 2^k lie in [2^125, 2^126). The weights
// w_i = (P / m_i) ((P / m_i)^-1 mod m_i) 2^k are taken modulo P' with |w_i| <= P' / 2 and cut into sixteen signed bytes, so that
//     c[j] = sum_i r_i w_i[j],   S = sum_j c[j] 2^(8 j) = 2^k x (mod P'),   |S| <= P' / 2 sum_i r_i,
// where x is the integer, |x| < P / 2. Residues are bytes, and there are at most 32 of them: |c[j]| <= 32 * 255 * 128 < 2^20.
//
// Columns of 16 bits are e[j] = c[2 j] + 2^8 c[2 j + 1] + b[j]. The sums of even bytes start from those of odd ones, shifted. The
// start of the latter makes b = 2^29, 2^29 - 2^13, -2^13, 0, twice. So sum_j b[j] 2^(16 j) = 0, and the columns 0, 1, 4 and 5 are
// not negative, also after a multiple of P' was taken off below. For 2^29 - 2^13 > 257 * 32 * 255 * 128 + 4081
// * 2^15; none reaches 2^30 in magnitude. A lane of 64 bits has one of them below and the one two places above it in its upper
// half. As a signed number it is their sum: with G0 = e[0] + 2^32 e[2], G1 = e[1] + 2^32 e[3], and H0 and H1 of the other four,
//     S = G0 + 2^16 G1 + 2^64 (H0 + 2^16 H1).
//
// Quotient: T = H1 + floor(H0 / 2^16) is S / 2^80 up to (-0.26, 1.26) and below 2^58 in magnitude. T 2^80 / P', converted and
// multiplied in FP64 and rounded once, gives an integer q. It is the nearest to S / P' + d with |d| < 1.26 * 2^-45 + 2^12 * 2^-52
// < 2^-39; |q| <= 32 * 255 / 2 + 1 fits 16 bits. So |S - q P'| <= P' (1/2 + 2^-39) < 2^125. It is 2^k x, or that plus or minus
// P', and then it is at least P' / 2 in magnitude.
//
// q P' is taken off column by column, with the signed halfwords of -P'; carries are resolved once, at the end, modulo 2^128.
//
// Larger products are cut: k is negative, P' = floor(P 2^k), and w_i is rounded to an integer. Then S is off by at most half of
// sum_i r_i and q P' by |q|, in all by less than 32 * 255 / 2 + 4081 < 2^13. The error of 2^k x is as small.
#pragma once

#include <cstdint>

#include "plan/moduli/moduli.hpp"

namespace ozfp4 {

struct SignedColumns {
  static constexpr int kMostGroups = 8, kPairs = 4;

  int groups = 0;                              // of four moduli; 0: the constants are not usable
  std::int32_t shift = 0;                      // k
  double loss = 0;                             // what a result may be off by: 2^(13 - k), or 0 where nothing is cut
  double ratio = 0;                            // 2^80 / P'
  std::uint64_t most = 0;                      // floor(P' / 2^65), less one where something is cut
  std::uint64_t start[kPairs] = {};            // of odd bytes' sums; lanes of two columns, as of G0, G1, H0 and H1
  std::uint64_t negated_product[kPairs] = {};  // halfwords of -P' in the lower halves of words
  // For each group and pair of columns the signed bytes of four weights: the even ones of both columns, then the odd ones.
  std::uint64_t weight[kMostGroups][kPairs][2] = {};
};

// The constants, or none (groups = 0) where the moduli are more than 32. Words: 5 or 6.
template <int Words>
SignedColumns make_signed_columns(const CrtConstants<Words>& constants);

}  // namespace ozfp4
