// Whether the lines alone certify every entry of a product, by extremes of all rows of A and of all columns of B.
//
// An entry of a row a and a column b with error_exponent c is certified by depth where, with overlap = n_a + n_b - K >= 1,
//     depth_a + depth_b <= overlap (floor_log2(overlap) + c_a + c_b - c - p - 2)                                          (1)
// and where no product holds a rounded entry it is exact. Let L be the least capacity of the lines that are not exact. Where
// the entry is not exact, c_a + c_b - c >= L:
//   both terms of E:    c = max(c_a - 1 - r_b, c_b - 1 - r_a) + 1 <= max(c_a, c_b), so c_a + c_b - c >= min(c_a, c_b) >= L, as
//                       both lines are not exact;
//   that of a alone:    c = c_b - 1 - r_a, so c_a + c_b - c >= c_a + 1 > L, as a is not exact; that of b alone likewise.
// (r_a, r_b >= 0 are binades_below.) With `least` = K - missing_a - missing_b <= overlap for the largest `missing` of either
// operand, and its largest depth, all entries are certified where least >= 1 and
//     depth_a + depth_b <= least (floor_log2(least) + L - p - 2):                                                         (2)
// depths are not negative, so neither is the factor of `least`, and then the right side of (1) is not below that of (2).
//
// Lines without a finite nonzero entry, whose entries are exact, and lines with NaN or infinity, whose entries are IEEE's, ask
// nothing.
#pragma once

#include <cstdint>

#include "arith/accuracy/certificate.hpp"
#include "arith/host_device.hpp"

namespace ozfp4 {

inline constexpr std::uint32_t kAboveCapacities = 256;

// Of some lines of an operand. Maxima with zero as the start, so that a device combines them in any order.
struct LineExtremes {
  std::uint64_t depth;
  std::uint32_t missing;  // K less the nonzero entries
  std::uint32_t lack;     // kAboveCapacities less the capacity, of lines that are not exact; 0: all are
  std::uint32_t widest;   // capacity, of any line

  friend bool operator==(const LineExtremes& x, const LineExtremes& y) {
    return x.depth == y.depth && x.missing == y.missing && x.lack == y.lack && x.widest == y.widest;
  }
};

// Of one line of k entries, by a record of make_record. Range: 1 <= k < 2^31, capacities from 2 to 200.
OZFP4_HD LineExtremes line_extremes(const LineRecord& record, bool is_special, std::int64_t k) {
  const auto capacity = static_cast<std::uint32_t>(record.capacity);
  if (is_special || record.nonzeros == 0) return {0, 0, 0, capacity};
  return {static_cast<std::uint64_t>(record.depth), static_cast<std::uint32_t>(k - record.nonzeros),
          record.rounded == 0 ? 0 : kAboveCapacities - capacity, capacity};
}

OZFP4_HD LineExtremes combine(const LineExtremes& x, const LineExtremes& y) {
  return {x.depth > y.depth ? x.depth : y.depth, x.missing > y.missing ? x.missing : y.missing, x.lack > y.lack ? x.lack : y.lack,
          x.widest > y.widest ? x.widest : y.widest};
}

// Range: of all lines of both operands, whose entries are k, 1 <= k < 2^31; then the depths are below 2^43. Where the
// accuracy is correct, depths say nothing: entries are certain because they are exact.
OZFP4_HD bool is_certain(const LineExtremes& a, const LineExtremes& b, Accuracy accuracy, std::int64_t k, int precision) {
  const std::uint32_t lack = a.lack > b.lack ? a.lack : b.lack;
  if (lack == 0) return true;
  const std::int64_t least = k - a.missing - b.missing;
  if (accuracy != Accuracy::fp64 || least < 1) return false;
  const int factor = floor_log2(least) + static_cast<int>(kAboveCapacities - lack) - precision - 2;
  return static_cast<std::int64_t>(a.depth + b.depth) <= least * factor;
}

}  // namespace ozfp4
