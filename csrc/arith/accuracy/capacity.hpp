// The capacity c of a line, the bits of its integers, chosen by the line alone: C_ij depends on row i and column j and nothing
// else (docs/inside/accuracy.md). p is the precision of the result, 53 or 24.
#pragma once

#include <cstdint>

#include "arith/accuracy/line_facts.hpp"
#include "arith/host_device.hpp"
#include "arith/modes.hpp"

namespace ozfp4 {

// Largest capacity that line_capacity gives to "correct", less p.
inline constexpr int kMostExtraBits = 23;

// Whether the nonzero entries lie, on average, at least `quarters` / 4 binades below the largest.
OZFP4_HD bool is_deep(const LineFacts& facts, int quarters) { return 4 * depth(facts) >= quarters * facts.nonzeros; }

// Mean depths, in quarters of a binade. Normally distributed entries have one of 3.5 binades at most. From 15/4 on rounding the
// result costs more bits than the conversion of p bits; and at 5 the lines of one operand begin to differ much.
inline constexpr int kDeep = 15, kVeryDeep = 20;

// floor(log2 x). Precondition: x > 0.
OZFP4_HD int floor_log2(std::int64_t x) { return highest_bit(static_cast<std::uint64_t>(x)); }

// Bits in addition to p in "standard". For K from 512 on they take one INT8 modulus more than p bits do, and nearly all entries
// of dense matrices have a certificate (docs/inside/accuracy.md).
inline constexpr int kStandardExtraBits = 4;

// Bits that a plan must have. Precondition: not scaled.
constexpr int accuracy_bits(Accuracy accuracy, int precision) {
  return precision + (accuracy == Accuracy::standard ? kStandardExtraBits : kMostExtraBits);
}

// Never more than the span, with which nothing is rounded.
OZFP4_HD int capacity_of_span(Accuracy accuracy, int span, int most) {
  if (accuracy == Accuracy::scaled) return most;
  const int bits = span < most ? span : most;
  return bits < 2 ? 2 : bits;
}

// So many bits that the products of few entries are left to repair (docs/inside/accuracy.md). Normally distributed entries have p
// + 15, where the largest is below 4, and p + 16 below 8. Their integers have about the same norm, so that one number of moduli
// is enough for both, and the rounding is as small in both. A product that is added to something may cancel. The remainder has
// all of its bits where no entry is rounded, so that its lines are exact wherever a plan holds them.
OZFP4_HD int correct_extra(const LineFacts& facts, bool is_update) {
  if (is_update || is_deep(facts, kVeryDeep)) return kMostExtraBits;
  return is_deep(facts, kDeep) ? 19 : is_deep(facts, 12) ? 16 : 15;
}

// Where a plan has room for more bits, so many of a line of "correct": exact lines leave no entry to repair, not even where
// nearly everything cancels.
inline constexpr int kMostExactBits = 106;

// The capacity of a line of "correct" that would be `usual` elsewhere, where up to `most` bits are converted exactly.
OZFP4_HD int exact_capacity(int usual, int most, const LineFacts& facts) {
  return span(facts) > usual && span(facts) <= most ? span(facts) : usual;
}

// Precondition: `bits`, the plan's, is c itself where the accuracy is scaled, else at least accuracy_bits.
OZFP4_HD int line_capacity(Accuracy accuracy, int bits, const LineFacts& facts, int precision, bool is_update = false) {
  if (accuracy == Accuracy::scaled) return bits;
  const int extra = accuracy == Accuracy::standard ? kStandardExtraBits : correct_extra(facts, is_update);
  return capacity_of_span(accuracy, span(facts), precision + extra);
}

}  // namespace ozfp4
