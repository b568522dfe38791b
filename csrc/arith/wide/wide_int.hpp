// Fixed-width two's-complement integers of any number of 32-bit words, least significant word first. All operations wrap
// modulo 2^(32 * Words); word_counts.hpp says which widths the stages choose from.
#pragma once

#include <cstdint>

#include "arith/float_fields.hpp"
#include "arith/host_device.hpp"

namespace ozfp4 {

template <int Words>
struct WideInt {
  std::uint32_t word[Words];
};

template <int Words>
OZFP4_HD WideInt<Words> wide_zero() {
  WideInt<Words> x;
  for (int i = 0; i < Words; ++i) x.word[i] = 0;
  return x;
}

// v. Precondition: any v where Words >= 2; v modulo 2^32 for one word.
template <int Words>
OZFP4_HD WideInt<Words> wide_from(std::int64_t v) {
  WideInt<Words> x;
  for (int i = 0; i < Words; ++i) {
    x.word[i] = static_cast<std::uint32_t>(v);
    v >>= 32;  // arithmetic: the sign fills the upper words
  }
  return x;
}

template <int Words>
OZFP4_HD bool wide_is_negative(const WideInt<Words>& x) {
  return (x.word[Words - 1] >> 31) != 0;
}

// x + y. Precondition: any; the result is exact where the sum lies in [-2^(32 Words - 1), 2^(32 Words - 1)).
template <int Words>
OZFP4_HD WideInt<Words> wide_add(const WideInt<Words>& x, const WideInt<Words>& y) {
  WideInt<Words> sum;
  std::uint64_t carry = 0;
  for (int i = 0; i < Words; ++i) {
    carry += static_cast<std::uint64_t>(x.word[i]) + y.word[i];
    sum.word[i] = static_cast<std::uint32_t>(carry);
    carry >>= 32;
  }
  return sum;
}

// x - y. Precondition: as for wide_add.
template <int Words>
OZFP4_HD WideInt<Words> wide_sub(const WideInt<Words>& x, const WideInt<Words>& y) {
  WideInt<Words> difference;
  std::uint64_t borrow = 0;
  for (int i = 0; i < Words; ++i) {
    const std::uint64_t d = static_cast<std::uint64_t>(x.word[i]) - y.word[i] - borrow;
    difference.word[i] = static_cast<std::uint32_t>(d);
    borrow = (d >> 32) & 1;
  }
  return difference;
}

// -x. Precondition: any; -2^(32 Words - 1) is its own negation.
template <int Words>
OZFP4_HD WideInt<Words> wide_negate(const WideInt<Words>& x) {
  return wide_sub(wide_zero<Words>(), x);
}

// x * factor. Precondition: any, negative x included (modulo 2^(32 Words) the sign does not matter).
template <int Words>
OZFP4_HD WideInt<Words> wide_mul_small(const WideInt<Words>& x, std::uint32_t factor) {
  WideInt<Words> product;
  std::uint64_t carry = 0;
  for (int i = 0; i < Words; ++i) {
    carry += static_cast<std::uint64_t>(x.word[i]) * factor;
    product.word[i] = static_cast<std::uint32_t>(carry);
    carry >>= 32;
  }
  return product;
}

// All ones for a negative value, else 0: decisions without branches.
template <int Words>
OZFP4_HD std::uint32_t wide_sign_mask(const WideInt<Words>& x) {
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(x.word[Words - 1]) >> 31);
}

// x where the mask is all ones, 0 where it is 0.
template <int Words>
OZFP4_HD WideInt<Words> wide_masked(const WideInt<Words>& x, std::uint32_t mask) {
  WideInt<Words> y;
  for (int i = 0; i < Words; ++i) y.word[i] = x.word[i] & mask;
  return y;
}

// |x| for the mask wide_sign_mask(x). Precondition: any; 2^(32 Words - 1) is right as an unsigned number.
template <int Words>
OZFP4_HD WideInt<Words> wide_magnitude(const WideInt<Words>& x, std::uint32_t mask) {
  WideInt<Words> y;
  std::uint64_t carry = mask & 1u;
  for (int i = 0; i < Words; ++i) {
    carry += x.word[i] ^ mask;
    y.word[i] = static_cast<std::uint32_t>(carry);
    carry >>= 32;
  }
  return y;
}

// Number of bits of x as an unsigned number; 0 for 0. Precondition: any.
template <int Words>
OZFP4_HD int wide_bit_length(const WideInt<Words>& x) {
  int length = 0;
  for (int i = 0; i < Words; ++i) length = x.word[i] != 0 ? 32 * i + bit_length(x.word[i]) : length;
  return length;
}

// The double nearest to x, an unsigned number, up to a relative error of 2^-52 whatever Words. A step that rounds has at least 53
// bits above its word, so that all later words add less than 2^-53 (2^-32 + 2^-64 + ...) to the error. Precondition: Words <= 31.
template <int Words>
OZFP4_HD double wide_to_double(const WideInt<Words>& x) {
  static_assert(Words <= 31, "the number must be finite in FP64");
  double value = 0.0;
  for (int i = Words - 1; i >= 0; --i) value = value * 4294967296.0 + static_cast<double>(x.word[i]);
  return value;
}

// The lower words of x, or x with its sign filled into more. Precondition: any; exact where x fits.
template <int Words, int From>
OZFP4_HD WideInt<Words> wide_resize(const WideInt<From>& x) {
  const std::uint32_t sign = wide_sign_mask(x);
  WideInt<Words> y;
  for (int i = 0; i < Words; ++i) y.word[i] = i < From ? x.word[i < From ? i : 0] : sign;
  return y;
}

// floor(x / divisor) and the remainder. Precondition: x as an unsigned number, 0 < divisor < 2^32.
template <int Words>
OZFP4_HD WideInt<Words> wide_divide_small(const WideInt<Words>& x, std::uint32_t divisor, std::uint32_t& remainder) {
  WideInt<Words> quotient;
  std::uint64_t rest = 0;
  for (int i = Words - 1; i >= 0; --i) {
    rest = (rest << 32) | x.word[i];
    quotient.word[i] = static_cast<std::uint32_t>(rest / divisor);
    rest %= divisor;
  }
  remainder = static_cast<std::uint32_t>(rest);
  return quotient;
}

// x * 2^shift modulo 2^(32 Words). Precondition: shift >= 0. Words are not named by a number that is known late, which would put
// them into a GPU's memory.
template <int Words>
OZFP4_HD WideInt<Words> wide_shift_left(WideInt<Words> x, int shift) {
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
  for (; shift > 0; shift -= 31) x = wide_mul_small(x, std::uint32_t(1) << (shift < 31 ? shift : 31));
  return x;
}

}  // namespace ozfp4
