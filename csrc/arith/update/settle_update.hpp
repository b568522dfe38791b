// Whether an approximate sum of products and its bound decide alpha (sum) + beta c (Ziv's test), in integers.
#pragma once

#include <cstdint>

#include "arith/accuracy/modes.hpp"
#include "arith/exact/double_dot.hpp"
#include "arith/exact/settle.hpp"
#include "arith/host_device.hpp"
#include "arith/update/update.hpp"
#include "arith/wide/float_parts.hpp"
#include "arith/wide/wide_int.hpp"

namespace ozfp4 {

inline constexpr int kSettleBelow = 64;  // bits below the last one of the leading number of a sum

// floor(x 2^-weight), or the ceiling. Range: x's last bit lies at most kSettleBelow above the weight.
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
// are put in `result`, which is meaningless otherwise. Range: that of settle.
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

}  // namespace ozfp4
