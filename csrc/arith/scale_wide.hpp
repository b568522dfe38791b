// The integer round(x * 2^shift), ties to even, where it has more bits than a word of the machine: at most 53 of them lie
// between its leading bit and its last one that is set, so it is a 64-bit number moved to its place.
#pragma once

#include <cstdint>

#include "arith/host_device.hpp"
#include "arith/scale_entry.hpp"
#include "arith/wide/wide_int.hpp"

namespace ozfp4 {

// Bits [place, place + 32) of value * 2^0, in two's complement: the bits below the number are 0. Range: |place| < 2^20, the
// number's sign in bit 63.
OZFP4_HD std::uint32_t word_at(std::int64_t value, std::int64_t place) {
  const std::int64_t right = place < 0 ? 0 : place < 63 ? place : 63;
  const std::int64_t left = place >= 0 ? 0 : place > -32 ? -place : 32;
  // Shifts of the sign's complement are those of a nonnegative number: vectors of 64 bits have no other before AVX-512.
  const auto sign = static_cast<std::uint64_t>(value >> 63);
  const std::uint64_t shifted = ((static_cast<std::uint64_t>(value) ^ sign) >> right) ^ sign;
  return static_cast<std::uint32_t>(shifted << left);
}

// Range: x finite (other values give an unspecified integer), |x| * 2^shift < 2^(32 Words - 2) + 1/2. Free of branches.
template <int Words, class T>
OZFP4_HD WideInt<Words> scaled_wide(T x, int shift) {
  const ScaledParts parts = scaled_parts(x, shift);
  const std::int64_t value = parts.is_negative ? -parts.magnitude : parts.magnitude;
  WideInt<Words> integer;
  for (int i = 0; i < Words; ++i) integer.word[i] = word_at(value, 32 * i - parts.left);
  return integer;
}

// Largest capacity that scaled_wide_by_multiplication serves.
inline constexpr int kMultipliedBits = 82;

// The same three words by FP64 additions and multiplications, for machines where those are cheap; first and second as for
// scaled_integer_by_multiplication. Range: x finite, |x| * 2^shift <= 2^82.
//
// y = x 2^shift is exact, or so small that it rounds to 0. Added to 1.5 * 2^52, a number below 2^51 leaves its rounded integer
// in the lower bits of the sum: `upper` is round(y 2^-32), |upper| <= 2^50; the rest, |rest| <= 2^31, is a multiple of the last
// place of y and so an FP64 number, and rounding it to even rounds y to even, since upper 2^32 is even.
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
