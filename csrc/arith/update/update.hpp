// An entry of alpha A B + beta C, rounded once: what becomes of the integer of a product.
#pragma once

#include <cmath>
#include <cstdint>

#include "arith/float_fields.hpp"
#include "arith/host_device.hpp"
#include "arith/modes.hpp"
#include "arith/wide/round_wide.hpp"
#include "arith/wide/wide_int.hpp"

namespace ozfp4 {

// ---- A wide integer times a power of two, plus a number of any other weight, rounded once. ---
//
// Both are laid side by side in words that are wide enough for any overlap, and added exactly. They may lie so far apart that no
// result and no tie of any rounding can be between. Then the smaller one is replaced by one unit far below the last bit of the
// other.

// +- magnitude * 2^weight. Precondition: magnitude < 2^106, lowest word first.
struct Addend {
  SignificandProduct magnitude;
  int weight;
  bool is_negative;
};

inline constexpr int kSumRoom = 7;    // words that a sum takes beyond those of its integer
inline constexpr int kSumBelow = 6;   // of them below the integer, where the addend reaches below it
inline constexpr int kSumApart = 64;  // bits that make a number tiny compared with one that has its last bit so much higher

// Where the integer and the addend lie in the words of a sum.
struct SumPlace {
  int weight;                            // of the lowest bit of the words
  int words_below;                       // the integer begins above so many
  int addend_at;                         // bits
  bool is_integer_tiny, is_addend_tiny;  // then it is one unit of the lowest bit
};

// Precondition: `words` of the integer >= 3, weights within 2^28.
//   Addend above: the integer is below 2^(32 words) of its units, less than 2^-64 of the addend's last bit. Overlap: the addend's
//   first bit lies below bit 32 words + 64 + 106. Addend below: all of it under 2^(106 - 192) of the integer's last bit. The
//   integer is not 0. So the leading bit of the sum is at most one below its last one, and every result and every tie is a
//   multiple of 2^-56 of that.
OZFP4_HD SumPlace place_sum(int words, int weight, bool is_zero, const Addend& addend) {
  const SignificandProduct& m = addend.magnitude;
  const bool has_addend = (m.word[0] | m.word[1] | m.word[2] | m.word[3]) != 0;
  if (!has_addend) return {weight, 0, 0, false, false};
  const int apart = addend.weight - weight;
  if (is_zero || apart > 32 * words + kSumApart) return {addend.weight - kSumApart, 0, kSumApart, true, false};
  if (apart >= 0) return {weight, 0, apart, false, false};
  const int below = 32 * kSumBelow;
  const bool is_tiny = apart < -below;
  return {weight - below, kSumBelow, is_tiny ? 0 : apart + below, false, is_tiny};
}

// The words of a number in two's complement, taken lowest first; kept are the four that decide its rounding and whether anything
// is set below them. Which ones they are depends on the sign, known last: they are kept for either. Free of branches and of words
// named by a number that is known late, which would put them into a GPU's memory.
struct LeadingWords {
  // Four words, of which the lowest has the number `base`, up to the highest one that is not the sign's.
  struct Kept {
    std::uint32_t word[4];
    std::uint32_t below;
    int base;
  };
  std::uint32_t last[4] = {0u, 0u, 0u, 0u}, below = 0;
  Kept if_positive = {{0u, 0u, 0u, 0u}, 0u, 0}, if_negative = {{~0u, ~0u, ~0u, ~0u}, 0u, 0};  // 0 and -1
  int count = 0;

  OZFP4_HD void take(std::uint32_t word) {
    below |= last[0];
    for (int i = 0; i < 3; ++i) last[i] = last[i + 1];
    last[3] = word;
    const Kept own = {{last[0], last[1], last[2], last[3]}, below, count - 3};
    if_positive = word != 0u ? own : if_positive;
    if_negative = word != ~0u ? own : if_negative;
    ++count;
  }

  // The number times 2^weight, rounded once; an exact zero is +0, and -0 when rounding down. Precondition: one word or more were
  // taken, |weight| < 2^28.
  template <class T>
  OZFP4_HD T round(int weight, Rounding rounding) const {
    const std::uint32_t sign = (last[3] >> 31) != 0 ? ~0u : 0u;
    const Kept kept = sign != 0 ? if_negative : if_positive;
    WideInt<5> leading = {{kept.word[0], kept.word[1], kept.word[2], kept.word[3], sign}};
    // Rounding to odd, at least 96 bits below the leading one, more than the precision and two.
    leading.word[0] |= kept.below != 0 ? 1u : 0u;
    return round_wide<T>(leading, 32 * kept.base + weight, rounding);
  }
};

// x 2^weight + addend, rounded once; an exact zero is +0, and -0 when rounding down. Precondition: word_at(i) is word i < Words
// of x in two's complement, any value, Words >= 3; weights within 2^27. A GPU takes Unrolled words of the sum at a time: all of
// them where x lies in registers.
template <class T, int Words, int Unrolled, class WordAt>
OZFP4_HD T round_sum(WordAt&& word_at, int weight, const Addend& addend, Rounding rounding) {
  static_assert(Words >= 3, "an addend below the integer must leave a leading bit above it");
  std::uint32_t any = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll Unrolled
#endif
  for (int i = 0; i < Words; ++i) any |= word_at(i);
  const std::uint32_t sign = (word_at(Words - 1) >> 31) != 0 ? ~0u : 0u;
  const SumPlace place = place_sum(Words, weight, any == 0, addend);

  const int first = place.addend_at >> 5, bit = place.addend_at & 31;  // the addend's words begin at word `first` of the sum
  std::uint32_t shifted[5], before = 0;
  for (int k = 0; k < 5; ++k) {
    const std::uint32_t own = k == 4 ? 0u : place.is_addend_tiny ? (k == 0 ? 1u : 0u) : addend.magnitude.word[k < 4 ? k : 0];
    shifted[k] = static_cast<std::uint32_t>(((std::uint64_t(own) << 32 | before) << bit) >> 32);
    before = own;
  }

  const std::uint32_t flip = addend.is_negative ? ~0u : 0u;
  std::uint64_t carry = flip & 1u;
  LeadingWords sum;
#if defined(__CUDA_ARCH__)
#pragma unroll Unrolled
#endif
  for (int i = 0; i < Words + kSumRoom; ++i) {
    const std::uint32_t low = i < Words ? word_at(i < Words ? i : 0) : sign;
    const int raised = i - kSumBelow;
    const std::uint32_t high = raised < 0 ? 0u : raised < Words ? word_at(raised >= 0 && raised < Words ? raised : 0) : sign;
    const std::uint32_t tiny = i == 0 && any != 0 ? 1u | sign : sign;
    std::uint32_t added = 0;
    for (int k = 0; k < 5; ++k) added = first + k == i ? shifted[k] : added;
    carry += static_cast<std::uint64_t>(place.is_integer_tiny ? tiny : place.words_below != 0 ? high : low) + (added ^ flip);
    sum.take(static_cast<std::uint32_t>(carry));
    carry >>= 32;
  }
  return sum.round<T>(place.weight, rounding);
}

// ---- The factors -------------------------------------------------------------------------------------------------------

// Whether near_update (cpu/crt/near_update.hpp) is possible for the factors. beta may be 0.
OZFP4_HD bool are_near_factors(double alpha, double beta) {
  const double x = fabs(alpha), y = fabs(beta);
  return x >= 0x1p-200 && x <= 0x1p200 && (y == 0.0 || (y >= 0x1p-200 && y <= 0x1p200));
}

// The factors. Precondition: finite; alpha is not 0; where beta is 0, C is 0.
struct Update {
  FloatParts alpha, beta;

  OZFP4_HD static Update of(double alpha, double beta) { return {float_parts(alpha), float_parts(beta)}; }
};

// beta c, exactly: 106 bits. Precondition: c finite.
OZFP4_HD Addend addend_of(const Update& update, double c) {
  const FloatParts own = float_parts(c);
  return {significand_product(update.beta.significand, own.significand), update.beta.weight + own.weight,
          update.beta.is_negative != own.is_negative};
}

// |factor| x, in units of 2^factor.weight: 53 bits more. Precondition: |x| < 2^(32 Words + 10).
template <int Words>
OZFP4_HD WideInt<Words + 2> times_significand(const WideInt<Words>& x, const FloatParts& factor) {
  const WideInt<Words + 2> wide = wide_resize<Words + 2>(x);
  const WideInt<Words + 2> low = wide_mul_small(wide, static_cast<std::uint32_t>(factor.significand));
  const WideInt<Words + 2> high = wide_mul_small(wide, static_cast<std::uint32_t>(factor.significand >> 32));
  WideInt<Words + 2> shifted;
  for (int i = 0; i < Words + 2; ++i) shifted.word[i] = i > 0 ? high.word[i > 0 ? i - 1 : 0] : 0u;
  return wide_add(low, shifted);
}

// alpha x 2^exponent + addend, rounded once; an exact zero is +0, and -0 when rounding down. Precondition: any x, |exponent| <
// 2^26.
template <class T, int Words>
OZFP4_HD T round_update(const WideInt<Words>& x, int exponent, const Update& update, const Addend& addend, Rounding rounding) {
  WideInt<Words + 2> scaled = times_significand(x, update.alpha);
  if (update.alpha.is_negative) scaled = wide_negate(scaled);
  return round_sum<T, Words + 2, Words + 2 + kSumRoom>([&](int i) { return scaled.word[i]; }, exponent + update.alpha.weight,
                                                       addend, rounding);
}

OZFP4_HD bool is_finite(double x) { return magnitude_bits(x) < kInfinityBits<double>; }

// The result of IEEE arithmetic where the product or c is NaN or infinite: finite numbers change nothing of it. Precondition: one
// of them is; a finite product may be any.
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
