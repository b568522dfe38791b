// What certifies an entry: integers of its row and its column, and its own wide integer.
//
// With a = row i, b = column j, integers x_k = rn(a_k 2^s), y_k = rn(b_k 2^t) of at most 2^c_a and 2^c_b, n = K, and the exact
// V = sum x_k y_k:   |V - 2^(s+t) sum a_k b_k| <= E = N_b 2^(c_a - 1) + N_a 2^(c_b - 1), because
// x_k y_k - 2^(s+t) a_k b_k = x_k (y_k - b_k 2^t) + (x_k - a_k 2^s) b_k 2^t, |b_k 2^t| < 2^c_b, and each difference is at most
// 1/2. N_b, N_a: in how many products the first, the second term can differ from 0 (rounded_products). docs/accuracy.md has the
// proofs.
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

// With every nonzero entry counted as rounded where one may be. Range: capacity from line_capacity.
OZFP4_HD LineRecord make_record(const LineFacts& facts, int capacity) {
  const bool is_exact = span(facts) <= capacity;
  return {depth(facts), facts.nonzeros, is_exact ? 0 : static_cast<std::uint64_t>(facts.nonzeros), capacity, facts.exponent};
}

enum class Certificate : std::uint8_t {
  none,
  exact,   // no product holds a rounded entry: E = 0, V is the product itself
  depth,   // E <= n u (|A| |B|)_ij by the mean depths of the two lines
  result,  // E <= n u (|A| |B|)_ij because |V| is large
};

// Products in which the rounding of `line` can show: as many as it has rounded entries, and as `other` has nonzero ones, at most.
OZFP4_HD std::uint64_t rounded_products(const LineRecord& line, const LineRecord& other) {
  const auto nonzeros = static_cast<std::uint64_t>(other.nonzeros);
  return line.rounded < nonzeros ? line.rounded : nonzeros;
}

// r >= 0 such that count <= k 2^-r. Range: 1 <= count <= k.
OZFP4_HD int binades_below(std::uint64_t count, std::int64_t k) {
  const int ceil_log2 = count > 1 ? highest_bit(count - 1) + 1 : 0, r = floor_log2(k) - ceil_log2;
  return r > 0 ? r : 0;
}

// c such that E <= K 2^c. Range: not E = 0.
OZFP4_HD int error_exponent(const LineRecord& a, const LineRecord& b, std::int64_t k) {
  const std::uint64_t by_a = rounded_products(a, b), by_b = rounded_products(b, a);
  const int first = by_b == 0 ? 0 : a.capacity - 1 - binades_below(by_b, k);
  const int second = by_a == 0 ? 0 : b.capacity - 1 - binades_below(by_a, k);
  return by_a == 0 ? first : by_b == 0 ? second : (first > second ? first : second) + 1;
}

// Of a pair of lines, whatever their product. The geometric mean is not above the arithmetic one: over the `overlap` or more
// indices at which both are nonzero, sum |a_k b_k| >= overlap 2^(e_a + e_b - (depth_a + depth_b) / overlap). Range: records of
// lines of k entries, k <= 2^31, none of them special.
OZFP4_HD Certificate certify(const LineRecord& a, const LineRecord& b, std::int64_t k, int precision) {
  if (rounded_products(a, b) == 0 && rounded_products(b, a) == 0) return Certificate::exact;
  const std::int64_t overlap = a.nonzeros + b.nonzeros - k;
  if (overlap < 1) return Certificate::none;
  const int spare = a.capacity + b.capacity - error_exponent(a, b, k) - precision - 2;
  return a.depth + b.depth <= overlap * (floor_log2(overlap) + spare) ? Certificate::depth : Certificate::none;
}

// The least bit length of |V| that certifies: |V| >= 2 max(K, 2^p) 2^c >= (1 + 2^p / K) E, c = error_exponent, and
// 2^(s+t) (|A| |B|)_ij >= |V| - E. Range: certify gives depth or none.
OZFP4_HD int certified_length(const LineRecord& a, const LineRecord& b, std::int64_t k, int precision) {
  const int k_bits = floor_log2(k) + 1;
  return error_exponent(a, b, k) + (k_bits > precision ? k_bits : precision) + 2;
}

// E, an integer. Range: capacities >= 2, counts below 2^62, and 32 Words - 2 >= capacity + 64.
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

}  // namespace ozfp4
