// The result of "standard" where nothing certifies an entry: a chain of fused multiply-adds in the precision of the result,
//     fma(a_K, b_K, ... fma(a_2, b_2, fma(a_1, b_1, +0))) + 0,
// in the order of k, over all k, by one accumulator, to nearest. |chain - (AB)_ij| <= n (u (|A| |B|)_ij + eta / 2) with n
// products that are not 0, all but one of them for the last rounding (Jeannerod and Rump). A product of 0 changes nothing but the
// sign of a zero, which the last addition removes: it may be left out.
//
// Where the chain of finite lines ends infinite it is repeated with row and column times 2^-shift each, rounded, and its end
// times 2^(2 shift). With fewer than 2^31 products none of its sums overflows.
#pragma once

#include <cstdint>

#include "arith/accuracy/bound.hpp"
#include "arith/accuracy/certificate.hpp"
#include "arith/float_fields.hpp"
#include "arith/host_device.hpp"
#include "arith/scale_entry.hpp"
#include "arith/update/update.hpp"
#include "arith/wide/round_wide.hpp"
#include "arith/wide/wide_int.hpp"

namespace ozfp4 {

template <class T>
inline constexpr int kChainShift = 0;
template <>
inline constexpr int kChainShift<double> = 540;
template <>
inline constexpr int kChainShift<float> = 80;

// An entry of a row or column of a chain that is repeated.
template <class T>
OZFP4_HD T repeated_entry(T x) {
  return x * exact_power_of_two<T>(-kChainShift<T>);
}

// The end of a chain: `value` 2^exponent. Precondition: finite.
template <class T>
struct ChainEnd {
  T value;
  int exponent;  // 0, or 2 kChainShift of a chain that was repeated
};

template <class T>
OZFP4_HD WideInt<2> chain_integer(const FloatParts& parts) {
  WideInt<2> integer = wide_zero<2>();
  integer.word[0] = static_cast<std::uint32_t>(parts.significand);
  integer.word[1] = static_cast<std::uint32_t>(parts.significand >> 32);
  return parts.is_negative ? wide_negate(integer) : integer;
}

// The entry of the product.
template <class T>
OZFP4_HD T round_chain(const ChainEnd<T>& end) {
  if (end.exponent == 0) return end.value + T(0);
  const FloatParts parts = float_parts(end.value);
  return round_scaled<T>(chain_integer<T>(parts), parts.weight + end.exponent);
}

// The entry of alpha A B + beta C. Precondition: c finite.
template <class T>
OZFP4_HD T round_chain_update(const ChainEnd<T>& end, const Update& update, const Addend& addend) {
  const FloatParts parts = float_parts(end.value);
  return round_update<T>(chain_integer<T>(parts), parts.weight + end.exponent, update, addend, Rounding::nearest);
}

// A bound of |alpha| n (u 2^(e_a + e_b + 2) n + eta / 2) and of the last rounding, rounded up; alpha = 1 where `alpha` is null.
// Precondition: records of finite lines of fewer than 2^31 entries; `value` the entry.
template <class T>
OZFP4_HD double chain_bound(const LineRecord& a, const LineRecord& b, T value, const FloatParts* alpha) {
  using Format = FloatFormat<T>;
  const double rounding = rounding_bound(value, Rounding::nearest);
  const std::int64_t n = a.nonzeros < b.nonzeros ? a.nonzeros : b.nonzeros;
  if (n == 0) return rounding;
  const auto term = [&](std::uint64_t count, int exponent) {
    WideInt<2> integer = wide_zero<2>();
    integer.word[0] = static_cast<std::uint32_t>(count);
    integer.word[1] = static_cast<std::uint32_t>(count >> 32);
    return alpha == nullptr ? round_wide<double>(integer, exponent, Rounding::up)
                            : round_wide<double>(times_significand(integer, *alpha), exponent + alpha->weight, Rounding::up);
  };
  const auto count = static_cast<std::uint64_t>(n);
  const double relative = term(count * count, a.exponent + b.exponent + 2 - Format::precision);
  const double absolute = term(count, Format::lowest_exponent - 1);
  return add_up(add_up(relative, absolute), rounding);
}

}  // namespace ozfp4
