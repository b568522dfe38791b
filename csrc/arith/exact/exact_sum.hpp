// An exact sum of products of FP64 and FP32 numbers over their whole range, for what the approximate one leaves unsettled.
//
// Fixed point: digit i has the weight 2^(32 i - 2148); 2^-2148 is the product of two smallest subnormal numbers. A product has
// 106 bits and adds at most 2^32 - 1 to each of five neighbouring digits, or subtracts it. Digits are signed 64-bit words: 2^31
// products leave every one of them within 2^63 - 2^31, and no carry is moved before the end. So the order of the additions does
// not matter, nor do several threads at once (atomicAdd on the words as unsigned numbers, which wrap alike). Sums of 2^31
// products below 2^2048 have 2148 + 2048 + 31 bits and a sign: 133 digits.
#pragma once

#include <cstdint>

#include "arith/exact/settle.hpp"
#include "arith/float_fields.hpp"
#include "arith/host_device.hpp"
#include "arith/modes.hpp"
#include "arith/wide/round_wide.hpp"
#include "arith/wide/wide_int.hpp"

namespace ozfp4 {

inline constexpr int kExactDigits = 133;
inline constexpr int kExactPieces = 5;      // digits that one product reaches
inline constexpr int kExactLowest = -2148;  // weight of the lowest bit
inline constexpr std::int64_t kExactTerms = std::int64_t(1) << 31;

// The addends of a product: piece[i] to digit first + i, or subtracts where it is negative. Precondition: a and b finite.
struct ProductPieces {
  std::uint32_t piece[kExactPieces];
  int first;  // in [0, kExactDigits - kExactPieces)
  bool is_negative;
};
template <class A, class B>
OZFP4_HD ProductPieces product_pieces(A a, B b) {
  const FloatParts x = float_parts(a), y = float_parts(b);
  const SignificandProduct product = significand_product(x.significand, y.significand);
  const int place = x.weight + y.weight - kExactLowest, bit = place & 31;
  ProductPieces pieces;
  std::uint32_t below = 0;
  for (int i = 0; i < kExactPieces; ++i) {
    const std::uint32_t at = i < 4 ? product.word[i < 4 ? i : 0] : 0u;
    pieces.piece[i] = static_cast<std::uint32_t>(((static_cast<std::uint64_t>(at) << 32 | below) << bit) >> 32);
    below = at;
  }
  pieces.first = place >> 5;
  pieces.is_negative = x.is_negative != y.is_negative;
  return pieces;
}

// Moves the carries: all digits but the highest come to lie in [0, 2^32). Precondition: at most kExactTerms products added since
// the digits were 0. The digits may lie in shared memory.
OZFP4_HD void resolve_carries(std::int64_t* digit) {
  std::int64_t carry = 0;
  for (int i = 0; i < kExactDigits - 1; ++i) {
    const std::int64_t value = digit[i] + carry;  // |carry| < 2^31: within 2^63
    digit[i] = value & 0xffffffff;
    carry = value >> 32;
  }
  digit[kExactDigits - 1] += carry;
}

// The sum, rounded once; an exact zero is +0, and -0 when rounding down. Precondition: after resolve_carries.
template <class T>
OZFP4_HD T round_digits(const std::int64_t* digit, Rounding rounding) {
  // The four digits below the sign's, and the sticky bit of all lower ones in their last bit. That is rounding to odd, at least
  // 96 - 1 bits below the leading one, more than the precision and two.
  const std::uint32_t sign = digit[kExactDigits - 1] < 0 ? 0xffffffffu : 0u;
  int top = kExactDigits - 1;
  while (top > 3 && static_cast<std::uint32_t>(digit[top]) == sign) --top;
  const int base = top - 3;
  std::int64_t below = 0;
  for (int i = 0; i < base; ++i) below |= digit[i];
  WideInt<5> leading;
  for (int i = 0; i < 4; ++i) leading.word[i] = static_cast<std::uint32_t>(digit[base + i]);
  leading.word[0] |= below != 0 ? 1u : 0u;
  leading.word[4] = sign;
  return round_wide<T>(leading, 32 * base + kExactLowest, rounding);
}

// Adds to the digits. Precondition: a and b finite; kExactTerms in all.
template <class A, class B>
OZFP4_HD void add_product(std::int64_t* digit, A a, B b) {
  const ProductPieces pieces = product_pieces(a, b);
  const std::int64_t flip = pieces.is_negative ? -1 : 0;
  for (int i = 0; i < kExactPieces; ++i) {
    digit[pieces.first + i] += (static_cast<std::int64_t>(pieces.piece[i]) ^ flip) - flip;
  }
}

// The sum of one thread.
struct ExactSum {
  std::int64_t digit[kExactDigits] = {};
};

// Likewise.
template <class A, class B>
OZFP4_HD void add_product(ExactSum& sum, A a, B b) {
  add_product(sum.digit, a, b);
}

// Rounds what was added and leaves the sum fit for nothing more than another rounding.
template <class T>
OZFP4_HD T round_exact(ExactSum& sum, Rounding rounding) {
  resolve_carries(sum.digit);
  return round_digits<T>(sum.digit, rounding);
}

}  // namespace ozfp4
