// Scaling of one entry: the integer round(x * 2^shift), ties to even (paper, section IV-B).
// Done on the fields in integers, so subnormal numbers, the largest exponents and shifts beyond the FP64 range are right.
#pragma once

#include <cmath>
#include <cstdint>

#include "arith/float_fields.hpp"
#include "arith/host_device.hpp"
#include "arith/wide/wide_int.hpp"

namespace ozfp4 {

// Scale exponent of a row (column) with a largest magnitude of exponent e: the integers stay at or below 2^capacity.
OZFP4_HD int scale_exponent(int capacity, int largest_exponent) { return capacity - 1 - largest_exponent; }

// The integer round(x * 2^shift) as ± magnitude * 2^left, magnitude <= 2^53, left >= 0.
struct ScaledParts {
  std::int64_t magnitude, left;
  bool is_negative;
};

// Precondition: x finite (other values give unspecified parts), |shift| < 2^20. Free of branches, so that loops over it
// vectorise.
template <class T>
OZFP4_HD ScaledParts scaled_parts(T x, int shift) {
  using Format = FloatFormat<T>;
  using Bits = FloatBits<T>;
  constexpr int fraction_bits = Format::precision - 1;
  const Bits magnitude = magnitude_bits(x);
  const std::int64_t field = static_cast<std::int64_t>(magnitude >> fraction_bits);
  const std::int64_t fraction = static_cast<std::int64_t>(magnitude & ((Bits(1) << fraction_bits) - 1));
  const std::int64_t significand = fraction + (field > 0 ? (std::int64_t(1) << fraction_bits) : 0);
  // x = ± significand * 2^(max(field, 1) - 1 + lowest_exponent)
  const std::int64_t move = (field > 0 ? field - 1 : 0) + Format::lowest_exponent + shift;
  // Right: from 54 places on the result is 0 (significand < 2^53).
  const std::int64_t right = move < 0 ? (move > -62 ? -move : 62) : 0;
  const std::int64_t quotient = significand >> right;
  // Ties to even without a branch: add half an ulp less one, plus the quotient's last bit, before cutting.
  const std::int64_t half_less_one = ((std::int64_t(1) << right) >> 1) - (right > 0 ? 1 : 0);
  const std::int64_t bump = right > 0 ? half_less_one + (quotient & 1) : 0;
  return {(significand + bump) >> right, move > 0 ? move : 0, (float_bits(x) >> (8 * sizeof(Bits) - 1)) != 0};
}

// Precondition: x finite (other values give an unspecified integer), |x| * 2^shift < 2^62 + 1/2, that is, shift comes from
// scale_exponent of a row that holds x with capacity <= 62.
template <class T>
OZFP4_HD std::int64_t scaled_integer(T x, int shift) {
  const ScaledParts parts = scaled_parts(x, shift);
  const std::int64_t left = parts.left < 62 ? parts.left : 62;
  const std::int64_t rounded = static_cast<std::int64_t>(static_cast<std::uint64_t>(parts.magnitude) << left);
  return parts.is_negative ? -rounded : rounded;
}

// 2^exponent as an FP64 or FP32 number. Precondition: a normal number.
template <class T>
OZFP4_HD T exact_power_of_two(int exponent) {
  using Format = FloatFormat<T>;
  return float_from_bits<T>(static_cast<FloatBits<T>>(exponent - Format::min_exponent + 1) << (Format::precision - 1));
}

// The same integer by two multiplications, for machines where those are cheaper: first * second = 2^shift. Both are powers of two
// of about half the shift (halves_of), which are normal numbers where 2^shift may be none.
//
// Exact: for shift >= 0 the factors only enlarge x and |x| * 2^shift stays finite, so nothing is rounded. For shift < 0 a product
// can be rounded only where it is subnormal. As the factors shrink, x * 2^shift is then below 2^-126 in magnitude, exact or not,
// and rounds to 0. The conversion rounds once, ties to even (on the host in the default rounding mode). Precondition: as
// scaled_integer; Integer holds the result.
template <class Integer = std::int64_t, class T>
OZFP4_HD Integer scaled_integer_by_multiplication(T x, T first, T second) {
  const T y = x * first * second;
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(T) == 8) {
    if constexpr (sizeof(Integer) == 8)
      return __double2ll_rn(y);
    else
      return __double2int_rn(y);
  } else {
    if constexpr (sizeof(Integer) == 8)
      return __float2ll_rn(y);
    else
      return __float2int_rn(y);
  }
#else
  return static_cast<Integer>(std::nearbyint(y));
#endif
}

// The exponents of first and second. Precondition: |shift| <= 2000 (FP64), 200 (FP32).
struct ShiftHalves {
  int first, second;
};
OZFP4_HD ShiftHalves halves_of(int shift) { return {shift >> 1, shift - (shift >> 1)}; }

// ---- Integers of more bits than a word of the machine ----------------------------------------------------------------
//
// At most 53 bits lie between the leading and the last one that is set, so that the integer is a 64-bit number moved to its
// place.

// Bits [place, place + 32) of value * 2^0, in two's complement: the bits below the number are 0. Precondition: |place| < 2^20,
// the number's sign in bit 63.
OZFP4_HD std::uint32_t word_at(std::int64_t value, std::int64_t place) {
  const std::int64_t right = place < 0 ? 0 : place < 63 ? place : 63;
  const std::int64_t left = place >= 0 ? 0 : place > -32 ? -place : 32;
  // Shifts of the sign's complement are those of a nonnegative number: vectors of 64 bits have no other before AVX-512.
  const auto sign = static_cast<std::uint64_t>(value >> 63);
  const std::uint64_t shifted = ((static_cast<std::uint64_t>(value) ^ sign) >> right) ^ sign;
  return static_cast<std::uint32_t>(shifted << left);
}

// Precondition: x finite (other values give an unspecified integer), |x| * 2^shift < 2^(32 Words - 2) + 1/2. Free of branches.
template <int Words, class T>
OZFP4_HD WideInt<Words> scaled_wide(T x, int shift) {
  const ScaledParts parts = scaled_parts(x, shift);
  const std::int64_t value = parts.is_negative ? -parts.magnitude : parts.magnitude;
  WideInt<Words> integer;
  for (int i = 0; i < Words; ++i) integer.word[i] = word_at(value, 32 * i - parts.left);
  return integer;
}

// Largest capacity of scaled_wide_by_multiplication.
inline constexpr int kMultipliedBits = 82;

// The same three words by FP64 additions and multiplications, for machines where those are cheap; first and second as for
// scaled_integer_by_multiplication. Precondition: x finite, |x| * 2^shift <= 2^82.
//
// y = x 2^shift is exact, or so small that it rounds to 0. Added to 1.5 * 2^52, a number below 2^51 leaves its rounded integer in
// the lower bits of the sum: `upper` is round(y 2^-32), |upper| <= 2^50. The rest, |rest| <= 2^31, is a multiple of the last
// place of y and so an FP64 number. Rounding it to even rounds y to even, since upper 2^32 is even.
OZFP4_HD WideInt<3> scaled_wide_by_multiplication(double x, double first, double second) {
  constexpr double magic = 0x1.8p52;
  constexpr std::uint64_t magic_bits = 0x4338000000000000u;
  const double y = x * first * second;
#if defined(__CUDA_ARCH__)
  const double sum = __fma_rn(y, 0x1p-32, magic);
  const double rest = __fma_rn(sum - magic, -0x1p32, y) + magic;
#else
  const double sum = y * 0x1p-32 + magic;
  const double rest = (y - (sum - magic) * 0x1p32) + magic;
#endif
  const auto upper = static_cast<std::int64_t>(float_bits(sum) - magic_bits);
  const auto lower = static_cast<std::int64_t>(float_bits(rest) - magic_bits);
  const std::int64_t high = upper + (lower >> 32);  // the sign of `lower` borrows
  return {{static_cast<std::uint32_t>(lower), static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(high >> 32)}};
}

}  // namespace ozfp4
