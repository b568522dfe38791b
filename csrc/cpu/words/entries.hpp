// The loops over entries of a product in words. Lines lie one by one, or kWordColumns of them beside each other, [k][line].
#pragma once

#include <cstdint>

#include "arith/wide/near_sum.hpp"
#include "cpu/accuracy/extremes.hpp"
#include "cpu/words/shape.hpp"

namespace ozfp4 {

// What is asked of the entries of lines: the largest magnitude of finite entries and of all, as bits.
template <std::int64_t Lines>
struct Magnitudes {
  std::uint64_t finite[Lines], any[Lines];
};

// Extremes, member by member.
template <std::int64_t Lines>
struct LineExtremes64 {
  std::int64_t exponent[Lines], lowest[Lines], nonzeros[Lines], exponent_sum[Lines], subnormals[Lines];
};

// What conversion leaves of lines: the sums of squares of their integers, and how many entries it rounded.
template <std::int64_t Lines>
struct Converted {
  double squares[Lines];
  std::int64_t rounded[Lines];
};

// k entries of each line.
#define OZFP4_WORD_LOOPS(Lines)                                                              \
  void find_magnitudes(const double* x, std::int64_t k, Magnitudes<Lines>& found);           \
  void find_extremes(const double* x, std::int64_t k, LineExtremes64<Lines>& found);         \
  /* Entries become integers, round(x scale), non-finite ones 0, in both forms. */           \
  /* Range: the scales normal powers of two, |x| scale <= 2^kMostNearCapacity. */            \
  void convert_entries(double* x, std::uint64_t* words, std::int64_t k, const double* scale, \
                       Converted<Lines>& found);
OZFP4_WORD_LOOPS(1)
OZFP4_WORD_LOOPS(kWordColumns)
#undef OZFP4_WORD_LOOPS

// Residues of n integers.
void find_residues(const double* integers, std::int64_t n, const Bridge& bridge, double* residues);

}  // namespace ozfp4
