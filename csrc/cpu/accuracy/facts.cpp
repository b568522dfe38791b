#include "cpu/accuracy/facts.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "arith/float_fields.hpp"
#include "arith/scale_entry.hpp"
#include "cpu/runtime/vectorise.hpp"
#include "cpu/words/entries.hpp"

namespace ozfp4 {
namespace {

constexpr std::int64_t kMostEntries = 1 << 16;  // of a piece: its counts fit 32 bits

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

OZFP4_VECTORISED std::int64_t below(const double* x, std::int64_t n, std::int64_t weight, std::int64_t& subnormals) {
  return below_impl(x, n, weight, subnormals);
}
OZFP4_VECTORISED std::int32_t below(const float* x, std::int64_t n, std::int32_t weight, std::int32_t& subnormals) {
  return below_impl(x, n, weight, subnormals);
}

void add_any(LineFacts& facts, const double* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) add_entry(facts, x[i]);
}

// The facts that lanes of finite entries say, none of them with a bit below 2^kLeastPlainWeight; false where there are others.
bool take_lanes(const LaneFacts& lanes, LineFacts& facts) {
  std::uint64_t largest = 0;
  std::int64_t nonzeros = 0, fields = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t l = 0; l < kEightLanes; ++l) {
    largest = std::max(largest, lanes.largest[l]);
    nonzeros += lanes.nonzeros[l];
    fields += lanes.fields[l];
    least = std::min(least, lanes.least[l]);
  }
  const auto lowest = static_cast<std::int32_t>(float_bits(least) >> 52) - 1023;
  if (largest >= kInfinityBits<double> || lowest < kLeastPlainWeight) return false;
  facts = LineFacts();
  if (nonzeros > 0) facts = {exponent_of_magnitude<double>(largest), lowest, nonzeros, fields - 1023 * nonzeros};
  return true;
}

void add_piece(LineFacts& facts, const double* x, std::int64_t n) {
  const std::int64_t whole = n / kEightLanes, rest = n % kEightLanes;
  LaneFacts lanes;
  LineFacts found;
  if (whole > 0) find_in_eight(x, kEightLanes, whole, true, lanes);
  if (whole == 0 || !take_lanes(lanes, found)) return add_any(facts, x, n);
  facts = combine(facts, found);
  if (rest > 0) add_any(facts, x + n - rest, rest);
}

// As the numbers of FP64 that they are, none of them subnormal.
void add_piece(LineFacts& facts, const float* x, std::int64_t n) {
  constexpr std::int64_t most = 1024;
  alignas(64) double wide[most];
  for (std::int64_t i = 0; i < n; i += most) {
    const std::int64_t own = std::min(most, n - i);
    std::copy_n(x + i, own, wide);
    add_piece(facts, wide, own);
  }
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
