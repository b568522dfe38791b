// Facts of lines from their entries: from eight at once, of one line or of as many, and from pieces of one line.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "arith/accuracy/line_facts.hpp"
#include "arith/float_fields.hpp"

namespace ozfp4 {

inline constexpr std::int64_t kFactLanes = 8;

// Facts of lines from lanes of finite entries. The upper half of `largest` is that of the largest magnitude's bits, and so is the
// lower half where the upper one is 0. It gives the exponent, 0, and whether entries are finite. `least` is the least weight of a
// bit that is set, as a number. With entries below 2^kLeastPlainWeight it may be anything below that; `fields` sums the exponent
// fields, in which zeros have none. Where facts are not asked for only `largest` is found.
struct LaneFacts {
  std::uint64_t largest[kFactLanes];
  std::int64_t nonzeros[kFactLanes], fields[kFactLanes];
  double least[kFactLanes];
};
inline constexpr int kLeastPlainWeight = -1000;

// The facts of entries x[i * step + lane] for i < count; and of n entries of one line.
void find_lanes(const double* x, std::int64_t step, std::int64_t count, bool has_facts, LaneFacts& facts);
void find_line(const double* x, std::int64_t n, bool has_facts, LaneFacts& facts);

// The facts of one line by those of its lanes, the exponent alone where the others were not found. False where these are not
// enough: with entries that are not finite or have a bit below 2^kLeastPlainWeight.
inline bool take_lanes(const LaneFacts& lanes, std::int64_t first, std::int64_t count, bool has_facts, LineFacts& facts) {
  std::uint64_t largest = 0;
  std::int64_t nonzeros = 0, fields = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t l = first; l < first + count; ++l) {
    largest = std::max(largest, lanes.largest[l]);
    if (!has_facts) continue;
    nonzeros += lanes.nonzeros[l];
    fields += lanes.fields[l];
    least = std::min(least, lanes.least[l]);
  }
  const auto lowest = static_cast<std::int32_t>(float_bits(least) >> 52) - 1023;
  if (largest >= kInfinityBits<double> || lowest < kLeastPlainWeight) return false;
  if (largest == 0) return true;
  facts.exponent = exponent_of_magnitude<double>(largest);
  if (has_facts) facts.lowest = lowest, facts.nonzeros = nonzeros, facts.exponent_sum = fields - 1023 * nonzeros;
  return true;
}

// Adds an entry to what is known of a line.
inline void add_entry(PieceFacts& line, double x) {
  add_entry(line.facts, x);
  const std::uint64_t magnitude = magnitude_bits(x);
  if (magnitude >= kInfinityBits<double>) line.special |= magnitude > kInfinityBits<double> ? kHasNan : kHasInfinity;
}

// Adds n entries, as add_entry for each; of the facts the exponent alone counts where the others are not asked for. Precondition:
// in a DefaultFpMode.
void add_entries(PieceFacts& line, const double* x, std::int64_t n, bool has_facts);

// The finite entries x for which x 2^shift is no integer. Precondition: in a DefaultFpMode; a shift of a line that has them.
std::int64_t count_rounded(const double* x, std::int64_t n, int shift);

}  // namespace ozfp4
