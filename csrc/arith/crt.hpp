// Direct CRT of one entry in integers (paper, section V-B): x = sum_i r_i w_i mod P, then the symmetric representative.
#pragma once

#include <cstdint>

#include "arith/host_device.hpp"
#include "arith/wide_int.hpp"

namespace ozfp4 {

inline constexpr int kMaxModuli = 32;

// Constants for one prefix of a plan's moduli. weight[i] = (P / m_i) * ((P / m_i)^-1 mod m_i) < P.
template <int Words>
struct CrtConstants {
  int count;
  double inverse_product;         // fl(1 / P)
  WideInt<Words> product;         // P
  WideInt<Words> half;            // floor(P / 2)
  WideInt<Words> weight[kMaxModuli];
};

// The integer x with |x| < P / 2 and x = r_i (mod m_i). `residue(i)` returns r_i in [0, 2^26).
// Range: count <= 32, sum_i r_i * P < 2^(32 * Words - 1). Column sums stay below 32 * 2^26 * 2^32 = 2^63, so they need
// no carries. The quotient is estimated in FP64: it is below 2^31 with a relative error under 2^-49, so it is off from
// the nearest integer of S / P by at most one, and one correction settles it.
template <int Words, class Residue>
OZFP4_HD WideInt<Words> crt(const CrtConstants<Words>& constants, Residue residue) {
  std::uint64_t column[Words];
  for (int k = 0; k < Words; ++k) column[k] = 0;
  for (int i = 0; i < constants.count; ++i) {
    const std::uint64_t r = residue(i);
    for (int k = 0; k < Words; ++k) column[k] += r * constants.weight[i].word[k];
  }
  WideInt<Words> sum;
  std::uint64_t carry = 0;
  for (int k = 0; k < Words; ++k) {
    const std::uint64_t low = (column[k] & 0xffffffffu) + (carry & 0xffffffffu);
    sum.word[k] = static_cast<std::uint32_t>(low);
    carry = (column[k] >> 32) + (carry >> 32) + (low >> 32);
  }
  const std::uint32_t quotient = static_cast<std::uint32_t>(wide_to_double(sum) * constants.inverse_product + 0.5);
  WideInt<Words> x = wide_sub(sum, wide_mul_small(constants.product, quotient));
  if (wide_greater(x, constants.half)) {
    x = wide_sub(x, constants.product);
  } else if (wide_greater(wide_negate(constants.half), x)) {
    x = wide_add(x, constants.product);
  }
  return x;
}

}  // namespace ozfp4
