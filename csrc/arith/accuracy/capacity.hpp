// The capacity c of a line, the bits of its integers, chosen by the line alone: C_ij depends on row i and column j and nothing
// else (docs/accuracy.md). p is the precision of the result, 53 or 24.
#pragma once

#include <cstdint>

#include "arith/accuracy/line_facts.hpp"
#include "arith/accuracy/modes.hpp"
#include "arith/host_device.hpp"

namespace ozfp4 {

// Largest capacity that line_capacity gives, less p: what a plan must serve.
inline constexpr int kMostExtraBits = 23;

constexpr int accuracy_bits(int precision) { return precision + kMostExtraBits; }

// Whether the nonzero entries lie, on average, at least `quarters` / 4 binades below the largest.
OZFP4_HD bool is_deep(const LineFacts& facts, int quarters) { return 4 * depth(facts) >= quarters * facts.nonzeros; }

// Bits beside p of most lines that p bits alone do not serve; and of short lines that these do not serve: a large stack of small
// matrices has some of them, and 62 bits fit two words as those of the other lines do.
inline constexpr int kShortExtraBits = 4, kShortDeepExtraBits = 9;

// Mean depths, in quarters of a binade. Normally distributed entries have one of 3.5 binades at most; from 15/4 on rounding the
// result costs more bits than the conversion of p bits; and at 5 the lines of one operand begin to differ so much that sums of
// them are certified by 23 bits more, not by 11.
inline constexpr int kDeep = 15, kVeryDeep = 20;

// floor(log2 x). Range: x > 0.
OZFP4_HD int floor_log2(std::int64_t x) { return highest_bit(static_cast<std::uint64_t>(x)); }

// Whether p + extra bits satisfy what certify (certificate.hpp) asks of two such lines over their depths, with half a binade to
// spare, so that a line that passes serves some that do not. `overlap`: indices at which both are nonzero, at least.
OZFP4_HD bool serves_itself(const LineFacts& facts, std::int64_t overlap, int extra) {
  return overlap >= 1 && 4 * depth(facts) + overlap <= 2 * overlap * (floor_log2(overlap) + extra - 2);
}

// Lines that overlap at fewer indices never take p bits alone. Normally distributed entries have a mean depth of 2.4 or 3.4, and
// Lemma 3 serves p bits of them from here on; of fewer, some lines would take p and fail those that take p + 4.
inline constexpr std::int64_t kLeastPlainOverlap = 512;

// Of two lines the one with fewer bits decides (certify takes the larger error), so there are few steps: lines of one kind, whose
// depths differ a little, shall have the same. Short lines differ more and take 4 bits; those that the depths cannot certify,
// sparse ones among them, take 11, with which sums of terms of random signs are large enough in all but 1 of 100 cases; 9 if they
// are short.
OZFP4_HD int fp64_extra(const LineFacts& facts, std::int64_t k) {
  const int deep_bits = k < kLeastPlainOverlap ? kShortDeepExtraBits : 11;
  if (is_deep(facts, kDeep)) return is_deep(facts, kVeryDeep) ? kMostExtraBits : deep_bits;
  const std::int64_t overlap = k - 2 * (k - facts.nonzeros);
  if (overlap >= kLeastPlainOverlap && serves_itself(facts, overlap, 0)) return 0;
  return serves_itself(facts, overlap, kShortExtraBits) ? kShortExtraBits : deep_bits;
}

// Of a line of that span where longer ones have `most` bits. Never more than the span, with which nothing is rounded. In fp64 a
// span of p + 4 bits or fewer is kept; but one of p + 1 (random numbers in multiples of 2^-p-1 and smaller units) only where p
// bits do not serve.
OZFP4_HD int capacity_of_span(Accuracy accuracy, int span, int precision, int most) {
  if (accuracy == Accuracy::scaled) return most;
  const bool is_kept = accuracy == Accuracy::fp64 && span <= precision + 4 && !(span == precision + 1 && most == precision);
  const int bits = is_kept || span < most ? span : most;
  return bits < 2 ? 2 : bits;
}

// So many bits that the products of few entries are left to repair (docs/accuracy.md). Normally distributed entries have p + 15,
// where the largest is below 4, and p + 16 below 8: their integers have about the same norm, so that one number of moduli serves
// both, and the rounding is as small in both. A product that is added to something may cancel: what is left of it has all of its
// bits where no entry is rounded, so that its lines are exact wherever a plan holds them.
OZFP4_HD int correct_extra(const LineFacts& facts, bool is_update) {
  if (is_update || is_deep(facts, kVeryDeep)) return kMostExtraBits;
  return is_deep(facts, kDeep) ? 19 : is_deep(facts, 12) ? 16 : 15;
}

// Range: `bits`, the plan's, is c itself where the accuracy is scaled, else at least accuracy_bits.
OZFP4_HD int line_capacity(Accuracy accuracy, int bits, const LineFacts& facts, std::int64_t k, int precision,
                           bool is_update = false) {
  if (accuracy == Accuracy::scaled) return bits;
  const int extra = accuracy == Accuracy::fp64 ? fp64_extra(facts, k) : correct_extra(facts, is_update);
  return capacity_of_span(accuracy, span(facts), precision, precision + extra);
}

}  // namespace ozfp4
