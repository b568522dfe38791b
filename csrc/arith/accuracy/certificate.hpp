// Which entries of a product are kept: integers of the row, of the column, and of their magnitudes. docs/inside/accuracy.md has
// the proofs.
//
// Let a = row i, b = column j, integers x_k = rn(a_k 2^s), y_k = rn(b_k 2^t) of at most 2^c_a and 2^c_b, and the exact V = sum
// x_k y_k. Then |V - 2^(s+t) sum a_k b_k| <= E = N_b 2^(c_a - 1) + N_a 2^(c_b - 1). For x_k y_k - 2^(s+t) a_k b_k = x_k (y_k -
// b_k 2^t) + (x_k - a_k 2^s) b_k 2^t, |b_k 2^t| < 2^c_b, and each difference is at most 1/2. N_b, N_a: in how many products the
// first, the second term can differ from 0 (rounded_products).
//
// "standard" keeps an entry with E <= (n - 1) u 2^(s+t) (|A| |B|)_ij, n the fewer nonzero entries of the two lines. A line that
// is rounded has c = p + 4 there, and all its nonzero entries count as rounded. So with r the number of lines that are rounded, 1
// or 2, E <= r n 2^(c_a + c_b - p - 5), and both certificates are conditions on small integers.
#pragma once

#include <cstdint>

#include "arith/accuracy/capacity.hpp"
#include "arith/host_device.hpp"
#include "arith/wide/wide_int.hpp"

namespace ozfp4 {

// The facts of a line that certificates of its entries need.
struct LineRecord {
  std::int64_t depth = 0;     // see depth(LineFacts)
  std::int64_t nonzeros = 0;  // finite nonzero entries
  std::uint64_t rounded = 0;  // entries that the conversion rounds, or at least as many; 0: the line is exact
  std::int32_t capacity = 2;
  std::int32_t exponent = kNoExponent;
};

// With every nonzero entry counted as rounded where one may be. Precondition: capacity from line_capacity.
OZFP4_HD LineRecord make_record(const LineFacts& facts, int capacity) {
  const bool is_exact = span(facts) <= capacity;
  return {depth(facts), facts.nonzeros, is_exact ? 0 : static_cast<std::uint64_t>(facts.nonzeros), capacity, facts.exponent};
}

// Products in which the rounding of `line` can show: as many as it has rounded entries, and as `other` has nonzero ones, at most.
OZFP4_HD std::uint64_t rounded_products(const LineRecord& line, const LineRecord& other) {
  const auto nonzeros = static_cast<std::uint64_t>(other.nonzeros);
  return line.rounded < nonzeros ? line.rounded : nonzeros;
}

// Whether E = 0: V is the product itself.
OZFP4_HD bool is_exact_pair(const LineRecord& a, const LineRecord& b) {
  return rounded_products(a, b) == 0 && rounded_products(b, a) == 0;
}

// floor(4 log2 x): t = x^2 between 2^62 and 2^64 tells the quarters. Precondition: 1 <= x < 2^32.
OZFP4_HD int floor_log2_quarters(std::int64_t x) {
  const int whole = floor_log2(x);
  const std::uint64_t scaled = static_cast<std::uint64_t>(x) << (31 - whole), square = scaled * scaled;
  // The least integers from 2^62.5, 2^63 and 2^63.5 on.
  return 4 * whole + (square >= 6521908912666391107u) + (square >= (std::uint64_t(1) << 63)) + (square >= 13043817825332782213u);
}

// The certificate by depth, of `rounded` lines, 1 or 2, that share `overlap` nonzero indices or more and have these depths
// together. It holds with a larger overlap, too. Precondition: overlap < 2^32, depth < 2^44.
OZFP4_HD bool certifies_depth(std::int64_t depth, std::int64_t overlap, int rounded) {
  return overlap >= 2 && 4 * depth <= overlap * (floor_log2_quarters(overlap - 1) + 16 - 4 * rounded);
}

OZFP4_HD int rounded_lines(const LineRecord& a, const LineRecord& b) { return (a.rounded != 0) + (b.rounded != 0); }

// Whether the lines alone certify the entry. Precondition: records of "standard" of lines of k entries, k < 2^31, none of them
// special.
OZFP4_HD bool certifies_lines(const LineRecord& a, const LineRecord& b, std::int64_t k) {
  return is_exact_pair(a, b) || certifies_depth(a.depth + b.depth, a.nonzeros + b.nonzeros - k, rounded_lines(a, b));
}

// The upper eight bits of |x| below 2^(exponent + 1): floor(|x| 2^(7 - exponent)), 0..255. Precondition: `exponent` is that of
// the largest finite entry of the line; 0 for zeros and what is not finite.
template <class T>
OZFP4_HD std::uint32_t magnitude_byte(T x, int exponent) {
  using Format = FloatFormat<T>;
  const FloatBits<T> magnitude = magnitude_bits(x);
  const int field = static_cast<int>(magnitude >> (Format::precision - 1));
  const auto fraction = static_cast<std::uint64_t>(magnitude & ((FloatBits<T>(1) << (Format::precision - 1)) - 1));
  const std::uint64_t significand = field > 0 ? fraction | (std::uint64_t(1) << (Format::precision - 1)) : fraction;
  // |x| 2^(7 - exponent) = significand 2^-right
  const int right = exponent - 7 - ((field > 0 ? field - 1 : 0) + Format::lowest_exponent);
  const int left = right < -8 ? 8 : -right;  // at most 7 of an entry that counts
  const std::uint64_t kept = right > 63 ? 0 : right >= 0 ? significand >> right : significand << left;
  return magnitude >= kInfinityBits<T> ? 0u : static_cast<std::uint32_t>(kept);
}

// The certificate by magnitudes. Let L be the sum of the products of the magnitude bytes of a row and a column. As 2^(s+t) (|A|
// |B|)_ij >= L 2^(c_a + c_b - 16), it is (n - 1) L >= r n 2^11. No L from kCertainMagnitude on fails for n > 1, so that L may be
// cut to any such number. Where r is not 0 and neither line is zero, none below kHopelessMagnitude holds. Precondition: records
// as in certifies_lines.
inline constexpr std::uint32_t kHopelessMagnitude = 1 << 11, kCertainMagnitude = 4 * kHopelessMagnitude, kMostMagnitude = 65535;
OZFP4_HD bool certifies_magnitude(const LineRecord& a, const LineRecord& b, std::uint32_t magnitude) {
  const std::int64_t n = a.nonzeros < b.nonzeros ? a.nonzeros : b.nonzeros;
  return (n - 1) * static_cast<std::int64_t>(magnitude) >= kHopelessMagnitude * rounded_lines(a, b) * n;
}

// E, an integer. Precondition: capacities >= 2, counts below 2^62, and 32 Words - 2 >= capacity + 64.
template <int Words>
OZFP4_HD WideInt<Words> error_bound(const LineRecord& a, const LineRecord& b) {
  const auto shifted = [](std::uint64_t count, int places) {
    WideInt<Words> x = wide_zero<Words>();
    const int word = places >> 5, bit = places & 31;
    for (int i = 0; i < Words; ++i) {
      const std::uint32_t low = static_cast<std::uint32_t>(count), high = static_cast<std::uint32_t>(count >> 32);
      const std::uint32_t at = i == word ? low : i == word + 1 ? high : 0u;
      const std::uint32_t below = i == word + 1 ? low : i == word + 2 ? high : 0u;
      x.word[i] = bit == 0 ? at : (at << bit) | (below >> (32 - bit));
    }
    return x;
  };
  return wide_add(shifted(rounded_products(b, a), a.capacity - 1), shifted(rounded_products(a, b), b.capacity - 1));
}

// ---- Whether the lines alone certify every entry ---------------------------------------------------------------------
//
// By extremes of all rows of A and of all columns of B. With `least` = K - missing_a - missing_b for the largest `missing` of
// either operand, every pair of lines shares as many nonzero indices. With the largest depths of either, certifies_depth for
// these holds for every pair. Its right side grows with the overlap, and falls with the number of rounded lines, of which there
// is one where all lines of the other operand are exact.
//
// Lines without a finite nonzero entry have exact entries, lines with NaN or infinity IEEE's: they need nothing.

// The extremes of some lines of an operand: maxima with zero as the start, so that a device combines them in any order.
struct LineExtremes {
  std::uint64_t depth;
  std::uint32_t missing;  // K less the nonzero entries
  std::uint32_t rounded;  // 1 where a line is not exact

  friend bool operator==(const LineExtremes& x, const LineExtremes& y) {
    return x.depth == y.depth && x.missing == y.missing && x.rounded == y.rounded;
  }
};

// The extremes of one line of k entries, by a record of make_record. Precondition: 1 <= k < 2^31.
OZFP4_HD LineExtremes line_extremes(const LineRecord& record, bool is_special, std::int64_t k) {
  if (is_special || record.nonzeros == 0) return {0, 0, 0};
  return {static_cast<std::uint64_t>(record.depth), static_cast<std::uint32_t>(k - record.nonzeros), record.rounded != 0};
}

OZFP4_HD LineExtremes combine(const LineExtremes& x, const LineExtremes& y) {
  return {x.depth > y.depth ? x.depth : y.depth, x.missing > y.missing ? x.missing : y.missing, x.rounded | y.rounded};
}

// Precondition: of all lines of both operands, of k entries, 1 <= k < 2^31; then the depths are below 2^43. Where the accuracy is
// correct, depths say nothing: entries are certain because they are exact.
OZFP4_HD bool is_certain(const LineExtremes& a, const LineExtremes& b, Accuracy accuracy, std::int64_t k) {
  const int rounded = static_cast<int>(a.rounded + b.rounded);
  if (rounded == 0) return true;
  return accuracy == Accuracy::standard &&
         certifies_depth(static_cast<std::int64_t>(a.depth + b.depth), k - a.missing - b.missing, rounded);
}

}  // namespace ozfp4
