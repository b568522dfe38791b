// The capacity c of a line, the bits of its integers, chosen by the line alone: C_ij depends on row i and column j and nothing
// else (docs/accuracy.md). p is the precision of the result, 53 or 24.
#pragma once

#include <cstdint>

#include "arith/accuracy/line_facts.hpp"
#include "arith/accuracy/modes.hpp"
#include "arith/host_device.hpp"

namespace ozfp4 {

// Largest capacity that line_capacity gives, less p: what a plan must serve.
inline constexpr int kFp64ExtraBits = 4;
inline constexpr int kCorrectExtraBits = 23;

constexpr int accuracy_bits(Accuracy accuracy, int precision) {
  return precision + (accuracy == Accuracy::correct ? kCorrectExtraBits : kFp64ExtraBits);
}

// Whether the nonzero entries lie, on average, at least `quarters` / 4 binades below the largest.
OZFP4_HD bool is_deep(const LineFacts& facts, int quarters) { return 4 * depth(facts) >= quarters * facts.nonzeros; }

// floor(log2 x). Range: x > 0.
OZFP4_HD int floor_log2(std::int64_t x) { return highest_bit(static_cast<std::uint64_t>(x)); }

// A line that fits p + 4 bits is not rounded at all. Others get p bits, more where the entries lie deep below the largest: what
// certify (certificate.hpp) asks of two lines of this kind over their depths, with half a binade to spare, so that lines whose
// capacities differ by one serve each other, if 4 bits more suffice for it; and from a mean depth of 15/4 on, beyond that of
// normally distributed entries (3.5 at most), 4 more at least: then rounding the result costs more bits than the conversion.
OZFP4_HD int fp64_capacity(const LineFacts& facts, std::int64_t k, int precision) {
  const int bits = span(facts);
  if (bits <= precision + kFp64ExtraBits) return bits < 2 ? 2 : bits;
  const std::int64_t overlap = k - 2 * (k - facts.nonzeros);
  int extra = is_deep(facts, 15) ? 4 : 0;
  const std::int64_t need = 4 * depth(facts) + overlap;
  while (extra < kFp64ExtraBits && (overlap < 1 || need > 2 * overlap * (floor_log2(overlap) + extra - 2))) ++extra;
  return precision + extra;
}

// So many bits that the products of few entries are left to repair: p + 15, by the count of rounded entries of normally
// distributed data (docs/accuracy.md); more where the entries lie deep below the largest, 15/4 and 9 binades on average.
OZFP4_HD int correct_capacity(const LineFacts& facts, int precision) {
  const int bits = span(facts), most = precision + (is_deep(facts, 36) ? 23 : is_deep(facts, 15) ? 19 : 15);
  return bits < 2 ? 2 : bits < most ? bits : most;
}

// Range: `bits`, the plan's, is c itself where the accuracy is scaled, else at least accuracy_bits.
OZFP4_HD int line_capacity(Accuracy accuracy, int bits, const LineFacts& facts, std::int64_t k, int precision) {
  return accuracy == Accuracy::scaled ? bits
         : accuracy == Accuracy::fp64 ? fp64_capacity(facts, k, precision)
                                      : correct_capacity(facts, precision);
}

}  // namespace ozfp4
