// Direct CRT of one entry from column sums of 16 bits: what reconstruct does where the sums come from a matrix unit.
//
// Let P be the product of the moduli and k the shift that makes P' = P * 2^k fill Words words of 32 bits:
// P' < 2^(32 Words) (1 - 2^-12) <= 2 P'. The weights w_i = (P / m_i) ((P / m_i)^-1 mod m_i) 2^k < P' are cut into 2 Words
// halfwords, and the columns are
//     column[s] = sum_i r_i w_i[s],   S = sum_s column[s] 2^(16 s) = 2^k x (mod P'),
// where x is the integer, |x| < P / 2. With q = round(S / P') follows 2^k x = S - q P' = S + q (2^(32 Words) - P') modulo 2^(32
// Words). So q times the halfwords of 2^(32 Words) - P' is added to the columns, and carries are resolved once.
//
// Precondition: at most 32 residues of 16 bits r = low + 256 high with low <= 255 and high <= 63. The high parts enter with their
// own weights, 256 w_i mod P'. So column[s] <= 32 * (255 + 63) * 65535 < 2^29.4 and S / P' < 32 * 318 < 2^14; q * 65535 < 2^30
// and the sum of both stays below 2^31.
//
// Quotient: let U = 2^(32 Words - 18), t = 2^16 S / P' and f = inverse / 2^32 with inverse = floor(2^48 U / P'). From
// 2^17 U (1 - 2^-12) <= P' < 2^18 U follow 2^30 - 1 <= inverse < 2^32 and f < 0.501. The sum in units of U is
// S / U = u + rest with u = (column[top] << 2) + (column[top - 1] >> 14) < 2^31.4. To the rest the bits shifted out add less
// than 1, and the lower columns less than 2^29.4 (1 + 2^-15) 2^(16 (2 Words - 3)) / U < 0.67. So
// u f <= t < u f + 1.67 f + (u + 2) / 2^32 < u f + 1.51. With offset = ceil((2^15 + 3) / f), offset f in
// [2^15 + 3, 2^15 + 3.51), the estimate
//     y = floor((u + offset) f)   satisfies   y - 3.51 < t + 2^15 < y - 0.49.
// So floor(y / 2^16) is round(S / P') whenever y mod 2^16 >= 4. Otherwise, for one random entry in 2^14, it is that or one
// more: S - q P' may lie below -P' / 2, and exact_column_integer adds P' then. In every case |S - q P'| <=
// P' (1/2 + 2^-14) < 2^(32 Words - 1).
#pragma once

#include <cstdint>

#include "arith/fold.hpp"
#include "arith/host_device.hpp"
#include "arith/wide/wide_int.hpp"

namespace ozfp4 {

// Constants of one prefix of the moduli; Words in {2, 4, 6}.
template <int Words>
struct ColumnConstants {
  std::int32_t shift;                // k
  std::uint32_t inverse, offset;     // of the quotient
  std::uint32_t negated[2 * Words];  // halfwords of 2^(32 Words) - P'
  std::uint32_t product[Words];      // P'
  std::uint32_t lowest[Words];       // -floor(P / 2) 2^k
};

// y of the proof above.
template <int Words>
OZFP4_HD std::uint32_t column_estimate(const std::uint32_t (&column)[2 * Words], const ColumnConstants<Words>& constants) {
  const std::uint32_t units = column[2 * Words - 1] * 4 + constants.offset + (column[2 * Words - 2] >> 14);
  return multiply_high(units, constants.inverse);
}

OZFP4_HD std::uint32_t column_quotient(std::uint32_t estimate) { return estimate >> 16; }
OZFP4_HD bool is_uncertain(std::uint32_t estimate) { return (estimate & 0xffffu) < 4; }

// x + y; for 128 bits in the form that compiles to one carry chain on GPUs.
template <int Words>
OZFP4_HD WideInt<Words> add_words(const WideInt<Words>& x, const WideInt<Words>& y) {
#if defined(__CUDA_ARCH__)
  if constexpr (Words == 4) {
    WideInt<4> sum;
    asm("add.cc.u32 %0, %4, %8;\n\taddc.cc.u32 %1, %5, %9;\n\taddc.cc.u32 %2, %6, %10;\n\taddc.u32 %3, %7, %11;"
        : "=r"(sum.word[0]), "=r"(sum.word[1]), "=r"(sum.word[2]), "=r"(sum.word[3])
        : "r"(x.word[0]), "r"(x.word[1]), "r"(x.word[2]), "r"(x.word[3]), "r"(y.word[0]), "r"(y.word[1]), "r"(y.word[2]),
          "r"(y.word[3]));
    return sum;
  }
#endif
  return wide_add(x, y);
}

// sum_i column[i] 2^(16 i) modulo 2^(32 Words).
template <int Words>
OZFP4_HD WideInt<Words> words_of_columns(const std::uint32_t (&column)[2 * Words]) {
  WideInt<Words> even, odd;
  std::uint32_t below = 0;
  for (int i = 0; i < Words; ++i) {
    even.word[i] = column[2 * i];
    odd.word[i] = (column[2 * i + 1] << 16) | (below >> 16);
    below = column[2 * i + 1];
  }
  return add_words(even, odd);
}

// S + quotient * negated, which is S - q P' where the constants are those of a product of moduli.
template <int Words>
OZFP4_HD WideInt<Words> column_integer(const std::uint32_t (&column)[2 * Words], std::uint32_t quotient,
                                       const ColumnConstants<Words>& constants) {
  std::uint32_t reduced[2 * Words];
  for (int i = 0; i < 2 * Words; ++i) reduced[i] = column[i] + quotient * constants.negated[i];
  return words_of_columns<Words>(reduced);
}

// 2^k x whatever the estimate: |x| <= floor(P / 2).
template <int Words>
OZFP4_HD WideInt<Words> exact_column_integer(const std::uint32_t (&column)[2 * Words], const ColumnConstants<Words>& constants) {
  const std::uint32_t estimate = column_estimate(column, constants);
  const WideInt<Words> x = column_integer(column, column_quotient(estimate), constants);
  WideInt<Words> product, lowest;
  for (int i = 0; i < Words; ++i) {
    product.word[i] = constants.product[i];
    lowest.word[i] = constants.lowest[i];
  }
  // Where this matters both numbers are negative: their difference does not overflow.
  const std::uint32_t below = is_uncertain(estimate) ? wide_sign_mask(wide_sub(x, lowest)) : 0u;
  return wide_add(x, wide_masked(product, below));
}

}  // namespace ozfp4
