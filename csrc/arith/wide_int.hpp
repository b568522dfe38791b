// Fixed-width two's-complement integers of 32-bit words, least significant word first: 160 bits for every plan whose
// product of moduli stays below 2^130, 256 bits for the rest. All operations wrap modulo 2^(32 * Words).
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

template <int Words>
OZFP4_HD WideInt<Words> wide_negate(const WideInt<Words>& x) {
  return wide_sub(wide_zero<Words>(), x);
}

// x * factor.
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

// |x| for the mask wide_sign_mask(x).
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

// Number of bits of a nonnegative value; 0 for 0.
template <int Words>
OZFP4_HD int wide_bit_length(const WideInt<Words>& x) {
  int length = 0;
  for (int i = 0; i < Words; ++i) length = x.word[i] != 0 ? 32 * i + bit_length(x.word[i]) : length;
  return length;
}

// The nearest double up to a relative error of 2^-51. Range: 0 <= x < 2^1000.
template <int Words>
OZFP4_HD double wide_to_double(const WideInt<Words>& x) {
  double value = 0.0;
  for (int i = Words - 1; i >= 0; --i) value = value * 4294967296.0 + static_cast<double>(x.word[i]);
  return value;
}

}  // namespace ozfp4
