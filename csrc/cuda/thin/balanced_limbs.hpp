// Long integers in balanced limbs of 27 bits, made from FP64 numbers by FP64 additions alone, for machines where those are cheap
// and shifts of 64 bits are not. Also the digits in which sums of products of limbs are kept.
#pragma once

#include <cstdint>

#include "arith/float_fields.hpp"
#include "arith/host_device.hpp"
#include "arith/wide/wide_int.hpp"

namespace ozfp4 {

inline constexpr int kBalancedBits = 27;

// |v| <= 2^kBalancedCapacity is sum limb_i 2^(27 i), the limbs but the uppermost in [-2^26, 2^26], that one in [-2^26, 2^26] of
// two limbs and in [-2^28, 2^28] of three.
template <int Limbs>
inline constexpr int kBalancedCapacity = Limbs == 2 ? 53 : 82;

template <int Limbs>
struct Balanced {
  std::int32_t limb[Limbs];
};

// The limbs of round(x * scale), ties to even. Precondition: scale a power of two that is a normal number, |x| * scale <=
// 2^kBalancedCapacity. The limbs of other x, non-finite ones among them, have no meaning, but are integers of 32 bits.
//
// 1.5 * 2^(52 + w) counts by 2^w. Its sum with a number below 2^(51 + w) has the multiple of 2^w nearest to the number in the
// lower word of its bits, as a count. The rest is a difference of bits that x has, hence an FP64 number. Where the multiple is 0
// it is the product itself, which rounds only where it is subnormal and the integer 0. A multiple of 2^27 is even, so that
// rounding the rest to even rounds the whole to even.
template <int Limbs>
OZFP4_HD Balanced<Limbs> balanced_limbs(double x, double scale) {
  static_assert(Limbs == 2 || Limbs == 3, "counts of 2^27 and of 2^54");
  constexpr double by_1 = 0x1.8p52, by_27 = 0x1.8p79, by_54 = 0x1.8p106;
  const auto count_of = [](double sum) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(float_bits(sum))); };
  Balanced<Limbs> limbs;
  double rest;
  if constexpr (Limbs == 3) {
    const double upper = fused_multiply_add(x, scale, by_54);
    limbs.limb[2] = count_of(upper);
    const double left = fused_multiply_add(x, scale, -(upper - by_54)), middle = left + by_27;
    limbs.limb[1] = count_of(middle);
    rest = left - (middle - by_27);
  } else {
    const double upper = fused_multiply_add(x, scale, by_27);
    limbs.limb[1] = count_of(upper);
    rest = fused_multiply_add(x, scale, -(upper - by_27));
  }
  limbs.limb[0] = count_of(rest + by_1);
  return limbs;
}

// sum + x * y: one instruction of a GPU, as which nvcc does not know the product of what was cut out of FP64 numbers.
OZFP4_HD std::int64_t multiply_add(std::int32_t x, std::int32_t y, std::int64_t sum) {
#if defined(__CUDA_ARCH__)
  asm("mad.wide.s32 %0, %1, %2, %0;" : "+l"(sum) : "r"(x), "r"(y));
  return sum;
#else
  return sum + static_cast<std::int64_t>(x) * y;
#endif
}

// How many products may be summed. With three limbs the sum of the uppermost has products up to 2^56, the one below it two up to
// 2^54, and the one below that three up to 2^54. With two, sums have two up to 2^52.
template <int Limbs>
inline constexpr int kBalancedProducts = Limbs == 2 ? 1 << 9 : 1 << 6;

template <int Limbs>
struct BalancedSums {
  std::int64_t sum[2 * Limbs - 1] = {};

  OZFP4_HD void add_product(const Balanced<Limbs>& x, const Balanced<Limbs>& y) {
    for (int i = 0; i < Limbs; ++i) {
      for (int j = 0; j < Limbs; ++j) sum[i + j] = multiply_add(x.limb[i], y.limb[j], sum[i + j]);
    }
  }
};

// Digits of 27 bits that hold every sum of products: sums of digits of many of them need no carries. All are in [0, 2^27) but the
// last, which has the sign and is below 2^12 in magnitude. Precondition: sums of up to kBalancedProducts.
inline constexpr int kSumDigits = 7;
inline constexpr std::uint32_t kDigitMask = (1u << kBalancedBits) - 1;
struct SumDigits {
  std::uint32_t digit[kSumDigits];
};

template <int Limbs>
OZFP4_HD SumDigits digits_of(const BalancedSums<Limbs>& sums) {
  SumDigits digits;
  std::int64_t carry = 0;
  for (int i = 0; i < kSumDigits - 1; ++i) {
    if (i < 2 * Limbs - 1) carry += sums.sum[i];
    digits.digit[i] = static_cast<std::uint32_t>(carry) & kDigitMask;
    carry >>= kBalancedBits;
  }
  digits.digit[kSumDigits - 1] = static_cast<std::uint32_t>(carry);
  return digits;
}

// Words that hold every number of such digits: 2 * 82 bits, those of the number of products, and a sign.
inline constexpr int kDigitWords = 6;

// sum digit_i 2^(27 i). Precondition: |digit_i| < 2^62, a value that the words hold.
OZFP4_HD WideInt<kDigitWords> value_of_digits(const std::int64_t (&digit)[kSumDigits]) {
  WideInt<kDigitWords> value = wide_from<kDigitWords>(digit[kSumDigits - 1]);
  for (int i = kSumDigits - 2; i >= 0; --i) {
    for (int w = kDigitWords - 1; w > 0; --w)
      value.word[w] = (value.word[w] << kBalancedBits) | (value.word[w - 1] >> (32 - kBalancedBits));
    value.word[0] <<= kBalancedBits;
    value = wide_add(value, wide_from<kDigitWords>(digit[i]));
  }
  return value;
}

}  // namespace ozfp4
