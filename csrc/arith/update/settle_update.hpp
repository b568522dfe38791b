// alpha times a sum of products plus beta c, rounded once: whether an approximate sum and its bound decide it (Ziv's test, in
// integers), and from the exact sum.
#pragma once

#include <cstdint>

#include "arith/exact/double_dot.hpp"
#include "arith/exact/exact_sum.hpp"
#include "arith/exact/settle.hpp"
#include "arith/float_fields.hpp"
#include "arith/host_device.hpp"
#include "arith/modes.hpp"
#include "arith/update/update.hpp"
#include "arith/wide/wide_int.hpp"

namespace ozfp4 {

inline constexpr int kSettleBelow = 64;  // bits below the last one of the leading number of a sum

// floor(x 2^-weight), or the ceiling. Precondition: x's last bit lies at most kSettleBelow above the weight.
OZFP4_HD WideInt<5> whole_units(const FloatParts& x, int weight, bool is_ceiling) {
  const int places = x.weight - weight;
  const int left = places > 0 ? places : 0, right = places < 0 ? -places : 0;
  const std::uint64_t kept = right < 64 ? x.significand >> right : 0;
  const bool is_lost = right < 64 ? (kept << right) != x.significand : x.significand != 0;
  const std::uint64_t low = left < 64 ? kept << left : 0;
  const std::uint64_t high = left > 0 ? (left < 64 ? kept >> (64 - left) : kept) : 0;
  WideInt<5> units = {{static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32), static_cast<std::uint32_t>(high),
                       static_cast<std::uint32_t>(high >> 32), 0u}};
  if (x.is_negative) units = wide_negate(units);
  const int step = !is_lost || x.is_negative == is_ceiling ? 0 : is_ceiling ? 1 : -1;
  return wide_add(units, wide_from<5>(step));
}

// Whether every number within `bound` of high + low, times 2^exponent and alpha, plus the addend rounds to the same bits; they
// are put in `result`, which is meaningless otherwise. Precondition: that of settle.
template <class T>
OZFP4_HD bool settle_update(const DoubleDot& dot, double bound, int exponent, const Update& update, const Addend& addend,
                            Rounding rounding, T& result) {
  const double sum = dot_plus(dot.high, dot.low);
  const double rest = error_of_sum(dot.high, dot.low, sum);
  const bool is_exact = bound == 0.0;
  const FloatParts leading = float_parts(sum);
  const FloatParts least = float_parts(is_exact ? rest : next_down(dot_plus(rest, -bound)));
  const FloatParts most = float_parts(is_exact ? rest : next_up(dot_plus(rest, bound)));
  const int weight = leading.weight - kSettleBelow;
  if (least.weight > leading.weight || most.weight > leading.weight) return false;
  const WideInt<5> start = whole_units(leading, weight, false);
  const WideInt<5> lower = wide_add(start, whole_units(least, weight, false));
  const WideInt<5> upper = wide_add(start, whole_units(most, weight, true));
  result = round_update<T>(lower, weight + exponent, update, addend, rounding);
  return float_bits(result) == float_bits(round_update<T>(upper, weight + exponent, update, addend, rounding));
}

inline constexpr int kScaledDigits = kExactDigits + 2;  // words of an exact sum times 53 bits

// The digits times the significand of alpha, with its sign, as words of two's complement. Precondition: after resolve_carries,
// which leaves a highest digit of a few bits. The carry stays below 2^32 + 2^21 + 4.
OZFP4_HD void scale_digits(const std::int64_t* digit, const FloatParts& alpha, std::uint32_t* word) {
  const std::uint32_t sign = digit[kExactDigits - 1] < 0 ? 0xffffffffu : 0u, flip = alpha.is_negative ? 0xffffffffu : 0u;
  const std::uint64_t low = alpha.significand & 0xffffffffu, high = alpha.significand >> 32;
  std::uint64_t carry = 0, negated = flip & 1u;
  std::uint32_t before = 0;
  for (int i = 0; i < kScaledDigits; ++i) {
    const std::uint32_t own = i < kExactDigits ? static_cast<std::uint32_t>(digit[i]) : sign;
    const std::uint64_t first = own * low, second = before * high;
    const std::uint64_t sum = (first & 0xffffffffu) + (second & 0xffffffffu) + carry;
    carry = (sum >> 32) + (first >> 32) + (second >> 32);
    negated += static_cast<std::uint32_t>(sum) ^ flip;
    word[i] = static_cast<std::uint32_t>(negated);
    negated >>= 32;
    before = own;
  }
}

// alpha (sum of the digits) + addend, rounded once; an exact zero is +0, and -0 when rounding down. Precondition: after
// resolve_carries; `room` has kScaledDigits words, apart from the digits. Both may lie in shared memory.
template <class T>
OZFP4_HD T round_digits_update(const std::int64_t* digit, const Update& update, const Addend& addend, std::uint32_t* room,
                               Rounding rounding) {
  scale_digits(digit, update.alpha, room);
  return round_sum<T, kScaledDigits, 1>([=](int i) { return room[i]; }, kExactLowest + update.alpha.weight, addend, rounding);
}

}  // namespace ozfp4
