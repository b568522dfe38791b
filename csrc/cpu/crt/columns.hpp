// The CRT of up to kLanes entries at once: loops over these inside of loops over the words of their integers.
#pragma once

#include <cstdint>

#include "arith/wide/crt.hpp"
#include "arith/wide/word_counts.hpp"

namespace ozfp4 {

inline constexpr int kLanes = 64;

// sum[k][i]: what the residues of entry i sum up to in word k; words from `words` on do not count.
struct Columns {
  int words;
  std::uint64_t sum[kMaxWords][kLanes];
};

// Word k of the integer of entry i, in two's complement.
struct LaneWords {
  std::uint32_t word[kMaxWords][kLanes];
};

// Precondition: sums of as many words as the product, or fewer.
template <int Words>
WideInt<Words> integer_of_lane(const Columns& columns, int lane, const CrtProduct<Words>& product) {
  std::uint64_t own[Words];
  for (int k = 0; k < Words; ++k) own[k] = k < columns.words ? columns.sum[k][lane] : 0;
  return crt_from_columns(own, product);
}

// Adds weight times residue to the sums.
void add_columns(const std::uint8_t* residues, int n, const std::uint32_t* weight, Columns& columns);
void add_columns(const std::uint32_t* residues, int n, const std::uint32_t* weight, Columns& columns);

// The integers of crt_from_columns for at most half the work, as many words as the columns have. `refused` is not 0 where the
// quotient lies within 2^-16 of a half-integer. The integer may then be off by the product of the moduli (the estimate is right
// to 2^31 * 2^-49 = 2^-18). That is one random entry in 2^15. Precondition: that of crt_from_columns; `product` of as many words.
void crt_lanes(const Columns& columns, int n, double inverse, const std::uint32_t* product, LaneWords& x, std::int64_t* refused);

template <int Words>
void crt_lanes(const Columns& columns, int n, const CrtProduct<Words>& product, LaneWords& x, std::int64_t* refused) {
  crt_lanes(columns, n, product.inverse, product.number.word, x, refused);
}

// The integers sum_g base^g sums[g * pitch + i], as many words of them. Precondition: they fit; what is on the way may wrap.
void join_digits(std::uint32_t base, int groups, const std::int64_t* sums, std::int64_t pitch, int n, int words, LaneWords& x);

}  // namespace ozfp4
