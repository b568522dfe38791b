// What certifies an entry: integers of its row and its column, and its own wide integer.
//
// With a = row i, b = column j, integers x_k = rn(a_k 2^s), y_k = rn(b_k 2^t) of at most 2^c_a and 2^c_b, n = K, and the exact
// V = sum x_k y_k:   |2^(s+t) sum a_k b_k - V| <= E = (N_b 2^c_a + N_a 2^c_b) / 2 + min(N_a, N_b) / 4, where N_a and N_b are the
// numbers of entries that the conversions rounded: x_k y_k - 2^(s+t) a_k b_k = x_k (y_k - b_k 2^t) + (x_k - a_k 2^s) y_k -
// (x_k - a_k 2^s) (y_k - b_k 2^t), and each difference is at most 1/2, and 0 for the others. docs/accuracy.md has the proofs.
#pragma once

#include <cstdint>

#include "arith/accuracy/capacity.hpp"
#include "arith/host_device.hpp"
#include "arith/wide/wide_int.hpp"

namespace ozfp4 {

// What is kept of a line for its entries.
struct LineRecord {
  std::int64_t depth = 0;     // see depth(LineFacts)
  std::int64_t nonzeros = 0;  // finite nonzero entries
  std::uint64_t rounded = 0;  // entries that the conversion rounds, or at least as many; 0: the line is exact
  std::int32_t capacity = 2;
  std::int32_t exponent = kNoExponent;
};

// With every entry counted as rounded where one may be. Range: capacity from line_capacity.
OZFP4_HD LineRecord make_record(const LineFacts& facts, int capacity, std::int64_t k) {
  const bool is_exact = span(facts) <= capacity;
  return {depth(facts), facts.nonzeros, is_exact ? 0 : static_cast<std::uint64_t>(k), capacity, facts.exponent};
}

enum class Certificate : std::uint8_t {
  none,
  exact,   // no entry of either line is rounded: E = 0, V is the product itself
  depth,   // E <= n u (|A| |B|)_ij by the mean depths of the two lines
  result,  // E <= n u (|A| |B|)_ij because |V| is large
};

// c such that E <= K 2^c (1 + 2^-50). Range: not both lines exact.
OZFP4_HD int error_exponent(const LineRecord& a, const LineRecord& b) {
  if (a.rounded == 0) return a.capacity;  // only b is rounded: E <= K 2^c_a / 2
  if (b.rounded == 0) return b.capacity;
  return a.capacity > b.capacity ? a.capacity : b.capacity;
}

// Of a pair of lines, whatever their product. The geometric mean is not above the arithmetic one: over the `overlap` or more
// indices at which both are nonzero, sum |a_k b_k| >= overlap 2^(e_a + e_b - (depth_a + depth_b) / overlap). Range: records of
// lines of k entries, none of them special.
OZFP4_HD Certificate certify(const LineRecord& a, const LineRecord& b, std::int64_t k, int precision) {
  if (a.rounded == 0 && b.rounded == 0) return Certificate::exact;
  const std::int64_t overlap = a.nonzeros + b.nonzeros - k;
  if (overlap < 1) return Certificate::none;
  const int spare = a.capacity + b.capacity - error_exponent(a, b) - precision - 2;
  return a.depth + b.depth < overlap * (floor_log2(overlap) + spare) ? Certificate::depth : Certificate::none;
}

// The least bit length of |V| that certifies: |V| >= 2^(p + c + 1), c = error_exponent; kNever where none does.
inline constexpr int kNever = 1 << 20;
OZFP4_HD int certified_length(const LineRecord& a, const LineRecord& b, std::int64_t k, int precision) {
  return (k >> (precision - 1)) != 0 ? kNever : error_exponent(a, b) + precision + 2;
}

// E, rounded up to an integer. Range: capacities >= 2, rounded <= 2^62, and 32 Words - 2 >= capacity + 64.
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
  const std::uint64_t fewer = a.rounded < b.rounded ? a.rounded : b.rounded;
  const WideInt<Words> first = shifted(b.rounded, a.capacity - 1), second = shifted(a.rounded, b.capacity - 1);
  return wide_add(wide_add(first, second), wide_from<Words>(static_cast<std::int64_t>((fewer + 3) / 4)));
}

}  // namespace ozfp4
