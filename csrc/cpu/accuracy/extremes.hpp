// One step of LineFacts without branches or counts of zeros, so that loops over entries vectorise.
#pragma once

#include <cstdint>
#include <type_traits>

#include "arith/accuracy/line_facts.hpp"
#include "arith/float_fields.hpp"

namespace ozfp4 {

// As wide as the entries, so that the loops vectorise.
template <class T>
using Signed = std::make_signed_t<FloatBits<T>>;

// lowest_weight without a count of zeros: the lowest set bit of the fraction becomes a floating-point number, exactly, and its
// exponent tells where it was. Range: the magnitude bits of a normal number.
template <class T>
inline Signed<T> lowest_weight_of_normal(FloatBits<T> magnitude) {
  using Format = FloatFormat<T>;
  constexpr int fraction_bits = Format::precision - 1;
  constexpr FloatBits<T> integers = static_cast<FloatBits<T>>(Format::max_exponent + fraction_bits) << fraction_bits;
  const FloatBits<T> fraction = magnitude & ((FloatBits<T>(1) << fraction_bits) - 1);
  const FloatBits<T> lowest = fraction & (~fraction + 1);
  const T value = float_from_bits<T>(lowest | integers) - float_from_bits<T>(integers);
  const auto place = static_cast<Signed<T>>(float_bits(value) >> fraction_bits) - Format::max_exponent;
  const auto field = static_cast<Signed<T>>(magnitude >> fraction_bits);
  return field - 1 + Format::lowest_exponent + (lowest == 0 ? fraction_bits : place);
}

// The facts of FP64 entries, and the number of subnormal ones: unless it is 0 the rest is void.
struct Extremes {
  std::int64_t exponent = kNoExponent, lowest = kNoLowest, nonzeros = 0, exponent_sum = 0, subnormals = 0;

  LineFacts facts() const {
    return {static_cast<std::int32_t>(exponent), static_cast<std::int32_t>(lowest), nonzeros, exponent_sum};
  }
};

// Range: the magnitude bits of any entry, of no more than the sum of exponents holds.
inline void add_to_extremes(std::uint64_t magnitude, std::int64_t& exponent, std::int64_t& least, std::int64_t& nonzeros,
                            std::int64_t& sum, std::int64_t& subnormals) {
  using Format = FloatFormat<double>;
  const auto field = static_cast<std::int64_t>(magnitude >> (Format::precision - 1));
  const std::int64_t own = field - 1 + Format::min_exponent, lowest = lowest_weight_of_normal<double>(magnitude);
  const bool is_counted = magnitude != 0 && magnitude < kInfinityBits<double>;
  const std::int64_t high = is_counted ? own : kNoExponent, low = is_counted ? lowest : kNoLowest;
  exponent = high > exponent ? high : exponent;
  least = low < least ? low : least;
  nonzeros += is_counted ? 1 : 0;
  sum += is_counted ? own : 0;
  subnormals += is_counted && field == 0 ? 1 : 0;
}

}  // namespace ozfp4
