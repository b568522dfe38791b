// alpha times an exact sum of products plus beta c, rounded once.
#pragma once

#include <cstdint>

#include "arith/accuracy/modes.hpp"
#include "arith/exact/exact_sum.hpp"
#include "arith/host_device.hpp"
#include "arith/update/update.hpp"

namespace ozfp4 {

inline constexpr int kScaledDigits = kExactDigits + 2;  // words of an exact sum times 53 bits

// The digits times the significand of alpha, with its sign, as words of two's complement. Range: after resolve_carries, which
// leaves a highest digit of a few bits. The carry stays below 2^32 + 2^21 + 4.
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

// alpha (sum of the digits) + addend, rounded once; an exact zero is +0, and -0 when rounding down. Range: after resolve_carries;
// `room` has kScaledDigits words, apart from the digits. Both may lie in shared memory.
template <class T>
OZFP4_HD T round_digits_update(const std::int64_t* digit, const Update& update, const Addend& addend, std::uint32_t* room,
                               Rounding rounding) {
  scale_digits(digit, update.alpha, room);
  return round_sum<T, kScaledDigits, 1>([=](int i) { return room[i]; }, kExactLowest + update.alpha.weight, addend, rounding);
}

}  // namespace ozfp4
