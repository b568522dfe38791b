// Dot products of scaled integers by INT8 products alone: scheme I with whole bytes as limbs, for K so short that sums of
// products of limbs need no residues.
//
// v = sum_i l_i 2^(8 i) with l_i in [-128, 127]: split_integer gives v + sum_i 128 * 2^(8 i), with the bytes l_i + 128. A dot
// product is x = sum_d D_d 2^(8 d), D_d = sum of l_i l'_j over i + j = d and over K: 2 Limbs - 1 sums. Let x be moved left by
// kLead<Limbs> bytes, so that D_d lies at byte d + lead. Sums at bytes 2 i make numbers at every 16 bits, and so do those at
// bytes 2 i + 1. Both are made nonnegative and added up without regard to signs. Where K is short a pair of them fits 32 bits,
//     E_i = D_(2 i - lead) + 2^8 D_(2 i + 1 - lead),
// and they are one number. The bias of each is 2^15 (2^16 - 1): those of n numbers from bit 0 on add up to 2^15 (2^(16 n) - 1).
//
// Precondition: |v| <= 2^kByteLimbBits<Limbs>, |x| 2^(8 lead) < 2^127. So the uppermost limb is 65 at most, the others are 128,
// and |D_d| <= K ((Limbs - 2) 2^14 + 2 * 65 * 2^7).
#pragma once

#include <cstdint>

#include "arith/host_device.hpp"
#include "arith/wide/column_crt.hpp"
#include "arith/wide/wide_int.hpp"

namespace ozfp4 {

constexpr int byte_limb_bits(int limbs) { return 8 * limbs - 2; }
constexpr int diagonals_of(int limbs) { return 2 * limbs - 1; }
template <int Limbs>
inline constexpr int kByteLimbBits = byte_limb_bits(Limbs);
template <int Limbs>
inline constexpr int kLead = 8 - Limbs;  // the uppermost word is then seldom only a sign
template <int Limbs>
inline constexpr int kDiagonals = diagonals_of(Limbs);

inline constexpr std::uint32_t kDiagonalBias = 0x7FFF8000u;

// The most that |D_d| is over `inner` products, and whether D_d + 2^8 D_(d + 1) and a carry from below fit 32 bits.
constexpr std::int64_t most_diagonal(int limbs, std::int64_t inner) {
  return inner * ((limbs - 2) * (std::int64_t(1) << 14) + 2 * 65 * 128);
}
constexpr bool pairs_fit(int limbs, std::int64_t inner) {
  return 257 * most_diagonal(limbs, inner) + (1 << 15) < std::int64_t(1) << 31;
}
template <int Limbs, int Inner>
inline constexpr std::int64_t kMostDiagonal = most_diagonal(Limbs, Inner);
template <int Limbs, int Inner>
inline constexpr bool kPairsFit = pairs_fit(Limbs, Inner);

// Whether D_d starts from the bias, not from 0: of a pair that is one number the lower one does.
template <int Limbs, int Inner>
OZFP4_HD constexpr bool starts_biased(int d) {
  return !kPairsFit<Limbs, Inner> || (d + kLead<Limbs>) % 2 == 0;
}

// x 2^(8 kLead<Limbs>), from D_d plus where they started. Precondition: K <= Inner.
template <int Limbs, int Inner>
OZFP4_HD WideInt<4> integer_of_diagonals(const std::uint32_t (&sum)[kDiagonals<Limbs>]) {
  static_assert(Limbs == 7 || Limbs == 8, "eight numbers at every 16 of 128 bits");
  static_assert(kMostDiagonal<Limbs, Inner> + (1 << 24) < std::int64_t(1) << 31, "the sums are numbers of 32 bits");
  constexpr bool fits = kPairsFit<Limbs, Inner>;
  std::uint32_t even[8] = {}, odd[8] = {};
  for (int i = 0; i < Limbs; ++i) {
    const int low = 2 * i - kLead<Limbs>, high = low + 1;
    even[i] = low < 0 ? kDiagonalBias : sum[low];
    if (high >= kDiagonals<Limbs>) continue;
    if (fits)
      even[i] += sum[high] << 8;
    else
      odd[i] = sum[high];
  }
  // The biases' complement to 0 modulo 2^127: the odd ones are seven, moved by a byte.
  even[0] += fits ? 1u << 15 : (1u << 15) + (1u << 23);
  WideInt<4> x = words_of_columns<4>(even);
  if (!fits) {
    const WideInt<4> above = words_of_columns<4>(odd);
    WideInt<4> moved;
    for (int i = 0; i < 4; ++i) moved.word[i] = above.word[i] << 8 | (i > 0 ? above.word[i > 0 ? i - 1 : 0] >> 24 : 0u);
    x = add_words(x, moved);
  }
  if (Limbs == 7) x.word[3] ^= 0x80000000u;
  return x;
}

}  // namespace ozfp4
