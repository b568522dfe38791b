// The loops over entries of a product in words: over some beside each other, which are entries of one line or of as many.
#pragma once

#include <cstdint>

#include "cpu/words/near_sum.hpp"

namespace ozfp4 {

// Beside each other: of what conversion takes, and of what is asked what it says.
inline constexpr std::int64_t kEntryLanes = 4, kEightLanes = 8;

// What lanes of finite entries say of their lines. The upper half of `largest` is that of the largest magnitude's bits, and the
// lower half is where the upper one is 0: it tells the exponent, 0, and what is not finite. `least` is the least weight of a bit
// that is set, as a number: of entries below 2^kLeastPlainWeight it may be anything below that; `fields` sums the exponent
// fields, in which zeros have none.
struct LaneFacts {
  std::uint64_t largest[kEightLanes];
  std::int64_t nonzeros[kEightLanes], fields[kEightLanes];
  double least[kEightLanes];
};
inline constexpr int kLeastPlainWeight = -1000;

// What conversion leaves of lanes: the sums of squares of their integers, and how many entries it rounded.
struct LaneIntegers {
  double squares[kEntryLanes];
  std::int64_t rounded[kEntryLanes];
};

// Entries x[i * step + lane] for i < count and kEntryLanes lanes, whose facts are those from lane `to` on.
void find_largest(const double* x, std::int64_t step, std::int64_t count, LaneFacts& facts, std::int64_t to);
void find_facts(const double* x, std::int64_t step, std::int64_t count, LaneFacts& facts, std::int64_t to);

// As find_facts, or where `has_facts` is false as find_largest, of entries x[i * step + lane] for i < count: where `step` is
// kEightLanes, of one line.
void find_in_eight(const double* x, std::int64_t step, std::int64_t count, bool has_facts, LaneFacts& facts);

// The facts of both, for lanes of the same lines.
void join(LaneFacts& facts, const LaneFacts& others, bool has_facts);

// Entries become integers, round(x scale), non-finite ones 0, in both forms. Range: scales of the lanes, normal powers of two,
// |x| scale <= 2^kMostNearCapacity.
void convert_entries(double* x, std::uint64_t* words, std::int64_t step, std::int64_t count, const double* scale,
                     LaneIntegers& found);

// Residues of n integers, by the wide bridge as words in two's complement.
void find_residues(const double* integers, std::int64_t n, const Bridge& bridge, double* residues);
void find_wide_residues(const double* integers, std::int64_t n, std::uint64_t* residues);

}  // namespace ozfp4
