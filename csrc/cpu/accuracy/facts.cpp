#include "cpu/accuracy/facts.hpp"

#include <algorithm>
#include <type_traits>

#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

// As wide as the entries, so that the loops vectorise.
template <class T>
using Signed = std::make_signed_t<FloatBits<T>>;

constexpr std::int64_t kMostEntries = 1 << 16;  // sums of so many exponents fit 32 bits

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

template <class T>
struct Extremes {
  Signed<T> exponent, lowest, nonzeros, exponent_sum, subnormals;
};

// Range: n <= kMostEntries; void where there are subnormal entries, whose number it tells.
template <class T>
inline Extremes<T> extremes_impl(const T* x, std::int64_t n) {
  using Format = FloatFormat<T>;
  Signed<T> exponent = kNoExponent, least = kNoLowest, nonzeros = 0, sum = 0, subnormals = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const FloatBits<T> magnitude = magnitude_bits(x[i]);
    const auto field = static_cast<Signed<T>>(magnitude >> (Format::precision - 1));
    const Signed<T> own = field - 1 + Format::min_exponent, lowest = lowest_weight_of_normal<T>(magnitude);
    const bool is_counted = magnitude != 0 && magnitude < kInfinityBits<T>;
    const Signed<T> high = is_counted ? own : kNoExponent, low = is_counted ? lowest : kNoLowest;
    exponent = high > exponent ? high : exponent;
    least = low < least ? low : least;
    nonzeros += is_counted ? 1 : 0;
    sum += is_counted ? own : 0;
    subnormals += is_counted && field == 0 ? 1 : 0;
  }
  return {exponent, least, nonzeros, sum, subnormals};
}

// The normal entries with a bit below `weight`, and in `subnormals` how many are none.
template <class T>
inline Signed<T> below_impl(const T* x, std::int64_t n, Signed<T> weight, Signed<T>& subnormals) {
  Signed<T> count = 0, others = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const FloatBits<T> magnitude = magnitude_bits(x[i]);
    const bool is_counted = magnitude != 0 && magnitude < kInfinityBits<T>;
    const bool is_subnormal = magnitude >> (FloatFormat<T>::precision - 1) == 0;
    count += is_counted && lowest_weight_of_normal<T>(magnitude) < weight ? 1 : 0;
    others += is_counted && is_subnormal ? 1 : 0;
  }
  subnormals = others;
  return count;
}

OZFP4_VECTORISED Extremes<double> extremes(const double* x, std::int64_t n) { return extremes_impl(x, n); }
OZFP4_VECTORISED Extremes<float> extremes(const float* x, std::int64_t n) { return extremes_impl(x, n); }
OZFP4_VECTORISED std::int64_t below(const double* x, std::int64_t n, std::int64_t weight, std::int64_t& subnormals) {
  return below_impl(x, n, weight, subnormals);
}
OZFP4_VECTORISED std::int32_t below(const float* x, std::int64_t n, std::int32_t weight, std::int32_t& subnormals) {
  return below_impl(x, n, weight, subnormals);
}

template <class T>
void add_piece(LineFacts& facts, const T* x, std::int64_t n) {
  const Extremes<T> found = extremes(x, n);
  if (found.subnormals > 0) {
    for (std::int64_t i = 0; i < n; ++i) add_entry(facts, x[i]);
    return;
  }
  facts = combine(facts, {static_cast<std::int32_t>(found.exponent), static_cast<std::int32_t>(found.lowest), found.nonzeros,
                          found.exponent_sum});
}

template <class T>
std::int64_t rounded_of_piece(const T* x, std::int64_t n, int shift) {
  Signed<T> subnormals = 0;
  const Signed<T> count = below(x, n, -shift, subnormals);
  if (subnormals == 0) return count;
  return std::count_if(x, x + n, [shift](T entry) {
    const FloatBits<T> magnitude = magnitude_bits(entry);
    return magnitude != 0 && magnitude < kInfinityBits<T> && lowest_weight<T>(magnitude) < -shift;
  });
}

template <class T>
void add_all(LineFacts& facts, const T* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += kMostEntries) add_piece(facts, x + i, std::min(kMostEntries, n - i));
}

template <class T>
std::int64_t rounded_of_all(const T* x, std::int64_t n, int shift) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < n; i += kMostEntries) count += rounded_of_piece(x + i, std::min(kMostEntries, n - i), shift);
  return count;
}

}  // namespace

void add_entries(LineFacts& facts, const double* x, std::int64_t n) { add_all(facts, x, n); }
void add_entries(LineFacts& facts, const float* x, std::int64_t n) { add_all(facts, x, n); }

std::int64_t count_rounded(const double* x, std::int64_t n, int shift) { return rounded_of_all(x, n, shift); }
std::int64_t count_rounded(const float* x, std::int64_t n, int shift) { return rounded_of_all(x, n, shift); }

}  // namespace ozfp4
