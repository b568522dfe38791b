// An entry of alpha A B + beta C, rounded once: what becomes of the integer of a product.
#pragma once

#include <cmath>
#include <cstdint>

#include "arith/accuracy/modes.hpp"
#include "arith/float_fields.hpp"
#include "arith/host_device.hpp"
#include "arith/update/round_sum.hpp"
#include "arith/wide/float_parts.hpp"
#include "arith/wide/wide_int.hpp"

namespace ozfp4 {

// Whether near_update (arith/update/near_update.hpp) serves the factors. beta may be 0.
OZFP4_HD bool are_near_factors(double alpha, double beta) {
  const double x = fabs(alpha), y = fabs(beta);
  return x >= 0x1p-200 && x <= 0x1p200 && (y == 0.0 || (y >= 0x1p-200 && y <= 0x1p200));
}

// The factors. Range: finite; alpha is not 0; where beta is 0, C is 0.
struct Update {
  FloatParts alpha, beta;

  OZFP4_HD static Update of(double alpha, double beta) { return {float_parts(alpha), float_parts(beta)}; }
};

// beta c, exactly: 106 bits. Range: c finite.
OZFP4_HD Addend addend_of(const Update& update, double c) {
  const FloatParts own = float_parts(c);
  return {significand_product(update.beta.significand, own.significand), update.beta.weight + own.weight,
          update.beta.is_negative != own.is_negative};
}

// |factor| x, in units of 2^factor.weight: 53 bits more. Range: |x| < 2^(32 Words + 10).
template <int Words>
OZFP4_HD WideInt<Words + 2> times_significand(const WideInt<Words>& x, const FloatParts& factor) {
  const WideInt<Words + 2> wide = wide_resize<Words + 2>(x);
  const WideInt<Words + 2> low = wide_mul_small(wide, static_cast<std::uint32_t>(factor.significand));
  const WideInt<Words + 2> high = wide_mul_small(wide, static_cast<std::uint32_t>(factor.significand >> 32));
  WideInt<Words + 2> shifted;
  for (int i = 0; i < Words + 2; ++i) shifted.word[i] = i > 0 ? high.word[i > 0 ? i - 1 : 0] : 0u;
  return wide_add(low, shifted);
}

// alpha x 2^exponent + addend, rounded once; an exact zero is +0, and -0 when rounding down. Range: any x, |exponent| < 2^26.
template <class T, int Words>
OZFP4_HD T round_update(const WideInt<Words>& x, int exponent, const Update& update, const Addend& addend, Rounding rounding) {
  WideInt<Words + 2> scaled = times_significand(x, update.alpha);
  if (update.alpha.is_negative) scaled = wide_negate(scaled);
  return round_sum<T, Words + 2, Words + 2 + kSumRoom>([&](int i) { return scaled.word[i]; }, exponent + update.alpha.weight,
                                                       addend, rounding);
}

OZFP4_HD bool is_finite(double x) { return magnitude_bits(x) < kInfinityBits<double>; }

// What IEEE arithmetic gives where the product or c is NaN or infinite: finite numbers change nothing of it. Range: one of them
// is; a finite product may be any.
OZFP4_HD double special_update(const Update& update, double product, double c) {
  constexpr std::uint64_t sign = std::uint64_t(1) << 63, quiet = std::uint64_t(1) << 51;
  const std::uint64_t first = float_bits(product) ^ (update.alpha.is_negative ? sign : 0);
  const std::uint64_t second = float_bits(c) ^ (update.beta.is_negative ? sign : 0);
  const std::uint64_t nan = kInfinityBits<double> | quiet;
  if ((first & ~sign) > kInfinityBits<double> || (second & ~sign) > kInfinityBits<double>) return float_from_bits<double>(nan);
  if (is_finite(c)) return float_from_bits<double>(first);
  if (is_finite(product) || first == second) return float_from_bits<double>(second);
  return float_from_bits<double>(nan);
}

}  // namespace ozfp4
