// round_scaled for integers of up to 157 bits and results that are certain to be normal, in FP64 arithmetic: what CPUs do
// eight at a time.
//
// The integer is the sum of three FP64 numbers, each exact: the lowest 52 bits, the next 52 and the signed rest. Their correctly
// rounded sum is that of Boldo and Melquiond (Emulation of FMA and correctly rounded sums, 2008). It takes two error-free
// additions, the two errors added with rounding to odd, and one addition that rounds. No product in it is ever rounded, so
// contracting them to fused multiply-adds changes nothing.
#pragma once

#include <cstdint>

#include "arith/float_fields.hpp"
#include "arith/host_device.hpp"
#include "arith/scale_entry.hpp"
#include "arith/wide/wide_int.hpp"

namespace ozfp4 {

// Exponents for which value * 2^exponent is 0 or a normal number for every |value| < 2^161, and so are its neighbours.
inline constexpr std::int32_t kLeastPieceExponent = -1020;
inline constexpr std::int32_t kMostPieceExponent = 1023 - 162;

// x + y = sum + error. Precondition: |x| >= |y| or x = 0, no overflow.
OZFP4_HD double sum_with_error(double x, double y, double& error) {
  const double sum = x + y;
  error = y - (sum - x);
  return sum;
}

// The same. Precondition: no overflow.
OZFP4_HD double any_sum_with_error(double x, double y, double& error) {
  const double sum = x + y, of_y = sum - x;
  error = (x - (sum - of_y)) + (y - of_y);
  return sum;
}

// x + y rounded to odd: where the addition is inexact and leaves an even last bit, the neighbour on the other side of the exact
// value. Precondition: no overflow, no subnormal numbers.
OZFP4_HD double sum_to_odd(double x, double y) {
  double lost;
  const double sum = any_sum_with_error(x, y, lost);
  const std::uint64_t bits = float_bits(sum);
  const bool is_away = (float_bits(lost) ^ bits) >> 63 == 0;  // the exact value is larger in magnitude
  const bool is_moved = lost != 0.0 && (bits & 1) == 0;
  return float_from_bits<double>(is_moved ? (is_away ? bits + 1 : bits - 1) : bits);
}

// sum + rest rounds to nearest even as the integer does; rest differs from the integer less sum by at most |rest| 2^-52.
struct SumOfPieces {
  double sum, rest;
};

// The integer top + middle + low.
struct SumParts {
  double top, middle, low;
};

// Multiples of 2^104 and of 2^52, and low in [0, 2^52). Precondition: |value| < 2^157.
OZFP4_HD SumParts sum_parts(const WideInt<5>& value) {
  constexpr std::uint64_t mask = (std::uint64_t(1) << 52) - 1;
  const std::uint64_t low = value.word[0] | (static_cast<std::uint64_t>(value.word[1]) << 32);
  const std::uint64_t high = value.word[2] | (static_cast<std::uint64_t>(value.word[3]) << 32);
  const std::int64_t top =
      static_cast<std::int64_t>(high >> 40) + static_cast<std::int64_t>(static_cast<std::int32_t>(value.word[4])) * (1 << 24);
  return {static_cast<double>(top) * 0x1p104,
          static_cast<double>(static_cast<std::int64_t>(((low >> 52) | (high << 12)) & mask)) * 0x1p52,
          static_cast<double>(static_cast<std::int64_t>(low & mask))};
}

// Precondition: integers, |top| < 2^200; the middle one is 0 or at least as large as the low one.
OZFP4_HD SumOfPieces sum_of_parts(const SumParts& parts) {
  double lower_error, sum_error;
  const double lower = sum_with_error(parts.middle, parts.low, lower_error);
  const double sum = any_sum_with_error(parts.top, lower, sum_error);
  return {sum, sum_to_odd(sum_error, lower_error)};
}

// (sum + rest) * 2^exponent, rounded once to nearest even; an exact zero is +0. Precondition: exponents from kLeastPieceExponent
// to kMostPieceExponent.
OZFP4_HD double round_double(const SumOfPieces& x, std::int32_t exponent) {
  return (x.sum + x.rest) * exact_power_of_two<double>(exponent);
}

// (sum + rest) * 2^exponent, rounded once to the nearest FP32 number, by way of FP64 rounded to odd, which has more than twice
// the bits. `refused` is not 0 where the result is small, but for an exact zero, which is +0: a processor may have been told to
// take subnormal numbers for zero. Precondition: as round_double.
OZFP4_HD float round_single(const SumOfPieces& x, std::int32_t exponent, std::int64_t& refused) {
  const double odd = sum_to_odd(x.sum, x.rest), scaled = odd * exact_power_of_two<double>(exponent);
  const bool is_small = scaled < 0x1p-125 && scaled > -0x1p-125 && odd != 0.0;
  refused = static_cast<std::int64_t>(is_small);
  return static_cast<float>(scaled);
}

}  // namespace ozfp4
