// Whether the lines alone certify every entry of a product, by extremes of all rows of A and of all columns of B.
//
// With `least` = K - missing_a - missing_b for the largest `missing` of either operand, every pair of lines shares as many
// nonzero indices; with the largest depths of either, certifies_depth for these holds for every pair: its right side grows with
// the overlap, and falls with the number of rounded lines, of which there is one where all lines of the other operand are exact.
//
// Lines without a finite nonzero entry, whose entries are exact, and lines with NaN or infinity, whose entries are IEEE's, ask
// nothing.
#pragma once

#include <cstdint>

#include "arith/accuracy/certificate.hpp"
#include "arith/host_device.hpp"

namespace ozfp4 {

// Of some lines of an operand. Maxima with zero as the start, so that a device combines them in any order.
struct LineExtremes {
  std::uint64_t depth;
  std::uint32_t missing;  // K less the nonzero entries
  std::uint32_t rounded;  // 1 where a line is not exact

  friend bool operator==(const LineExtremes& x, const LineExtremes& y) {
    return x.depth == y.depth && x.missing == y.missing && x.rounded == y.rounded;
  }
};

// The extremes of one line of k entries, by a record of make_record. Range: 1 <= k < 2^31.
OZFP4_HD LineExtremes line_extremes(const LineRecord& record, bool is_special, std::int64_t k) {
  if (is_special || record.nonzeros == 0) return {0, 0, 0};
  return {static_cast<std::uint64_t>(record.depth), static_cast<std::uint32_t>(k - record.nonzeros), record.rounded != 0};
}

OZFP4_HD LineExtremes combine(const LineExtremes& x, const LineExtremes& y) {
  return {x.depth > y.depth ? x.depth : y.depth, x.missing > y.missing ? x.missing : y.missing, x.rounded | y.rounded};
}

// Range: of all lines of both operands, whose entries are k, 1 <= k < 2^31; then the depths are below 2^43. Where the
// accuracy is correct, depths say nothing: entries are certain because they are exact.
OZFP4_HD bool is_certain(const LineExtremes& a, const LineExtremes& b, Accuracy accuracy, std::int64_t k) {
  const int rounded = static_cast<int>(a.rounded + b.rounded);
  if (rounded == 0) return true;
  return accuracy == Accuracy::standard &&
         certifies_depth(static_cast<std::int64_t>(a.depth + b.depth), k - a.missing - b.missing, rounded);
}

}  // namespace ozfp4
