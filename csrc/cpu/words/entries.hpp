// The loops over entries of a product in words.
#pragma once

#include <cstdint>

#include "cpu/runtime/vectors.hpp"
#include "cpu/words/near_sum.hpp"

namespace ozfp4 {

// What conversion leaves of lanes: the sums of squares of their integers, and how many entries it rounded.
struct LaneIntegers {
  double squares[kEntryLanes];
  std::int64_t rounded[kEntryLanes];
};

// Entries x[i * step + lane] for i < count and kEntryLanes lanes become integers, round(x scale), non-finite ones 0, in both
// forms. Precondition: scales of the lanes, normal powers of two, |x| scale <= 2^kMostNearCapacity.
void convert_entries(double* x, std::uint64_t* words, std::int64_t step, std::int64_t count, const double* scale,
                     LaneIntegers& found);

// Residues of n integers, by the wide bridge as words in two's complement.
void find_residues(const double* integers, std::int64_t n, const Bridge& bridge, double* residues);
void find_wide_residues(const double* integers, std::int64_t n, std::uint64_t* residues);

}  // namespace ozfp4
