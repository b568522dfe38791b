// Integers that a CRT is to round, and how they may be given back.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "arith/float_fields.hpp"
#include "arith/wide/crt.hpp"
#include "arith/wide/wide_int.hpp"
#include "check.hpp"

namespace ozfp4 {

using Integer = WideInt<6>;

inline Integer power_of_two(int bit) {
  Integer x = wide_zero<6>();
  x.word[bit / 32] = 1u << (bit % 32);
  return x;
}

inline bool is_at_most(const Integer& x, const Integer& y) { return !wide_is_negative(wide_sub(y, x)); }

// Below 2^bits, with the top bit set.
inline Integer random_of_length(int bits) {
  Integer x = wide_zero<6>();
  for (int i = 0; i < bits; ++i) x.word[i / 32] |= static_cast<std::uint32_t>(i == bits - 1 ? 1 : random_int(0, 1)) << (i % 32);
  return x;
}

// The modulus of a number of any sign.
inline std::uint32_t residue_of(const Integer& x, std::int64_t m) {
  std::uint32_t rest = 0;
  wide_divide_small(wide_magnitude(x, wide_sign_mask(x)), static_cast<std::uint32_t>(m), rest);
  return wide_is_negative(x) && rest != 0 ? static_cast<std::uint32_t>(m) - rest : rest;
}

// Integers below P / 2 in magnitude: of every length, of few bits, at or near ties of two results, near P / 2.
inline std::vector<Integer> integers_below(const CrtProduct<6>& product) {
  std::vector<Integer> found = {wide_zero<6>()};
  const int length = wide_bit_length(product.half);
  for (int bits = 1; bits <= length; ++bits) {
    found.push_back(random_of_length(bits));
    found.push_back(power_of_two(bits - 1));
    for (const int precision : {24, 53}) {
      if (bits < precision + 2) continue;
      const int drop = bits - precision;
      Integer tie = random_of_length(bits);
      for (int i = 0; i < drop; ++i) tie.word[i / 32] &= ~(1u << (i % 32));
      tie = wide_add(tie, power_of_two(drop - 1));
      for (const int beside : {-1, 0, 1}) found.push_back(wide_add(tie, wide_from<6>(beside)));
      if (drop > 3) found.push_back(wide_add(tie, power_of_two(random_int(0, drop - 2))));
    }
  }
  for (int gap = 0; gap < length; ++gap) found.push_back(wide_sub(product.half, power_of_two(gap)));
  const Integer limit = wide_sub(product.half, wide_from<6>((product.number.word[0] & 1) != 0 ? 0 : 1));
  found.push_back(limit);
  std::vector<Integer> kept;
  for (const Integer& x : found) {
    if (wide_is_negative(x) || !is_at_most(x, limit)) continue;
    kept.push_back(x);
    kept.push_back(wide_negate(x));
  }
  std::shuffle(kept.begin(), kept.end(), generator);
  return kept;
}

// Whether an integer may be refused: S / P, of which it is the distance from an integer, lies within 2^-places of a half-integer.
inline bool may_be_refused(const Integer& x, const CrtProduct<6>& product, int places) {
  Integer slack = wide_zero<6>();
  const int bit = wide_bit_length(product.number) - places;
  if (bit >= 0) slack = power_of_two(bit);
  return is_at_most(wide_sub(product.half, slack), wide_magnitude(x, wide_sign_mask(x)));
}

// Precondition: an integer below 2^158.
inline Integer integer_of(double x) {
  const FloatParts parts = float_parts(x);
  if (parts.significand == 0) return wide_zero<6>();
  const int places = parts.weight < 0 ? -parts.weight : 0;
  Integer found = wide_from<6>(static_cast<std::int64_t>(parts.significand >> places));
  for (int i = 0; i < parts.weight; ++i) found = wide_add(found, found);
  return parts.is_negative ? wide_negate(found) : found;
}

inline bool is_pair_of(const Integer& x, double sum, double rest, double loss) {
  const Integer off = wide_sub(x, wide_add(integer_of(sum), integer_of(rest)));
  return wide_to_double(wide_magnitude(off, wide_sign_mask(off))) <= std::fabs(rest) * 0x1p-52 + loss;
}

}  // namespace ozfp4
