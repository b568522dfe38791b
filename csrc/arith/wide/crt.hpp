// Direct CRT of one entry in integers (paper, section V-B): x = sum_i r_i w_i mod P, then the symmetric representative.
#pragma once

#include <cstdint>
#include <vector>

#include "arith/host_device.hpp"
#include "arith/wide/wide_int.hpp"

namespace ozfp4 {

// The product P of some moduli. All zero, it means no modulus at all: the functions below then leave the sum as it is.
template <int Words>
struct CrtProduct {
  double inverse;         // fl(1 / P)
  WideInt<Words> number;  // P
  WideInt<Words> half;    // floor(P / 2)
};

// Constants for one prefix of a plan's moduli. weight[i] = (P / m_i) * ((P / m_i)^-1 mod m_i) < P.
template <int Words>
struct CrtConstants {
  CrtProduct<Words> product;
  std::vector<WideInt<Words>> weight;
};

// The sum of the residues may come so close to 2^31 and not closer, whatever their number: column sums then stay below
// 2^31 * 2^32 = 2^63 and quotients below 2^31.
inline constexpr std::int64_t kMostResidueSum = (std::int64_t(1) << 31) - 1;

// The integer x with |x| <= P / 2 and x = r_i (mod m_i), from the column sums column[k] = sum_i r_i * weight[i].word[k].
// Precondition: r_i >= 0, sum_i r_i <= kMostResidueSum, P * sum_i r_i < 2^(32 * Words - 1). So column sums need no carries before
// this point. The quotient is estimated in FP64: it is below 2^31 with a relative error under 2^-50. So it is off from the
// nearest integer of S / P by at most one, and one correction settles it. Free of branches, so that loops over entries vectorise.
template <int Words>
OZFP4_HD WideInt<Words> crt_from_columns(const std::uint64_t (&column)[Words], const CrtProduct<Words>& product) {
  WideInt<Words> sum;
  std::uint64_t carry = 0;
  for (int k = 0; k < Words; ++k) {
    carry += column[k];
    sum.word[k] = static_cast<std::uint32_t>(carry);
    carry >>= 32;
  }
  const auto quotient = static_cast<std::int32_t>(wide_to_double(sum) * product.inverse + 0.5);
  WideInt<Words> x = wide_sub(sum, wide_mul_small(product.number, static_cast<std::uint32_t>(quotient)));
  const std::uint32_t above = wide_sign_mask(wide_sub(product.half, x));
  x = wide_sub(x, wide_masked(product.number, above));
  const std::uint32_t below = wide_sign_mask(wide_add(product.half, x));
  return wide_add(x, wide_masked(product.number, below));
}

}  // namespace ozfp4
