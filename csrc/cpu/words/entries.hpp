// The loops over entries of a product in words: over kEntryLanes beside each other, which are entries of one line or of as many.
#pragma once

#include <cstdint>

#include "arith/wide/near_sum.hpp"

namespace ozfp4 {

inline constexpr std::int64_t kEntryLanes = 4;

// What lanes of finite entries say of their lines. The upper half of `largest` is that of the largest magnitude's bits, and the
// lower half is where the upper one is 0: it tells the exponent, 0, and what is not finite. `least` is the least weight of a bit
// that is set, as a number: of entries below 2^kLeastPlainWeight it may be anything below that; `fields` sums the exponent
// fields, in which zeros have none.
struct LaneFacts {
  std::uint64_t largest[kEntryLanes];
  std::int64_t nonzeros[kEntryLanes], fields[kEntryLanes];
  double least[kEntryLanes];
};
inline constexpr int kLeastPlainWeight = -1000;

// What conversion leaves of lanes: the sums of squares of their integers, and how many entries it rounded.
struct LaneIntegers {
  double squares[kEntryLanes];
  std::int64_t rounded[kEntryLanes];
};

// Entries x[i * step + lane] for i < count.
void find_largest(const double* x, std::int64_t step, std::int64_t count, LaneFacts& facts);
void find_facts(const double* x, std::int64_t step, std::int64_t count, LaneFacts& facts);

// Entries become integers, round(x scale), non-finite ones 0, in both forms. Range: scales of the lanes, normal powers of two,
// |x| scale <= 2^kMostNearCapacity.
void convert_entries(double* x, std::uint64_t* words, std::int64_t step, std::int64_t count, const double* scale,
                     LaneIntegers& found);

// Residues of n integers, by the wide bridge as words in two's complement.
void find_residues(const double* integers, std::int64_t n, const Bridge& bridge, double* residues);
void find_wide_residues(const double* integers, std::int64_t n, std::uint64_t* residues);

}  // namespace ozfp4
