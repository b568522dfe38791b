#include "cpu/accuracy/facts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "arith/float_fields.hpp"
#include "arith/scale_entry.hpp"
#include "cpu/runtime/vectorise.hpp"
#include "cpu/words/entries.hpp"

namespace ozfp4 {
namespace {

// As scaled_integer_by_multiplication, a product is exact, or so small that it is no integer, or 0 though the entry is not.
template <class T>
inline std::int64_t rounded_impl(const T* x, std::int64_t n, int shift) {
  const ShiftHalves halves = halves_of(shift);
  const double first = exact_power_of_two<double>(halves.first), second = exact_power_of_two<double>(halves.second);
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double entry = magnitude_bits(x[i]) < kInfinityBits<T> ? static_cast<double>(x[i]) : 0.0;
    const double scaled = entry * first * second;
    count += static_cast<std::int64_t>(std::nearbyint(scaled) != scaled) |
             (static_cast<std::int64_t>(scaled == 0.0) & static_cast<std::int64_t>(entry != 0.0));
  }
  return count;
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

}  // namespace

void add_entries(LineFacts& facts, const double* x, std::int64_t n) {
  const std::int64_t whole = n / kEightLanes, rest = n % kEightLanes;
  LaneFacts lanes;
  LineFacts found;
  if (whole > 0) find_in_eight(x, kEightLanes, whole, true, lanes);
  if (whole == 0 || !take_lanes(lanes, found)) return add_any(facts, x, n);
  facts = combine(facts, found);
  if (rest > 0) add_any(facts, x + n - rest, rest);
}

// As the numbers of FP64 that they are, none of them subnormal.
void add_entries(LineFacts& facts, const float* x, std::int64_t n) {
  constexpr std::int64_t most = 1024;
  alignas(64) double wide[most];
  for (std::int64_t i = 0; i < n; i += most) {
    const std::int64_t own = std::min(most, n - i);
    std::copy_n(x + i, own, wide);
    add_entries(facts, wide, own);
  }
}

OZFP4_VECTORISED std::int64_t count_rounded(const double* x, std::int64_t n, int shift) { return rounded_impl(x, n, shift); }
OZFP4_VECTORISED std::int64_t count_rounded(const float* x, std::int64_t n, int shift) { return rounded_impl(x, n, shift); }

}  // namespace ozfp4
