// Loops over the lanes of a certified block, vectorised: bounds of errors, and integers as pairs of numbers that are rounded.
#pragma once

#include <cstdint>

#include "arith/accuracy/modes.hpp"
#include "cpu/crt/round_pieces.hpp"
#include "cpu/stages/columns.hpp"

namespace ozfp4 {

// A line's counts of rounded and of nonzero entries, and 2^(c - 1), as numbers.
struct ErrorTerms {
  double rounded, nonzeros, half;
};
struct LaneErrorTerms {
  double rounded[kLanes], nonzeros[kLanes], half[kLanes];
};

// Upper bounds of error_bound (arith/accuracy/certificate.hpp) of a row and n columns in FP64, 0 where that is 0. Returns how
// many are.
std::int64_t find_errors(const ErrorTerms& row, const LaneErrorTerms& columns, int n, double* error);

// Whether any of n is not 0.
bool is_any(const std::int64_t* refused, int n);

// Integers of up to kLanes entries as sums of three FP64 numbers, SumParts (cpu/crt/round_pieces.hpp), where these lie: in
// memory of somebody else, or in the room that this has.
struct LaneParts {
  double room[3][kLanes];
  const double *top = room[0], *middle = room[1], *low = room[2];

  LaneParts() = default;
  LaneParts(const LaneParts&) = delete;
  LaneParts& operator=(const LaneParts&) = delete;

  void put(const SumParts& own, int i) { room[0][i] = own.top, room[1][i] = own.middle, room[2][i] = own.low; }
};

// Integers of kLanes entries as sums of two FP64 numbers, both integers: sum + rest, up to 2^-52 |rest|. `refused` is not 0 where
// they are not.
struct LanePairs {
  double sum[kLanes], rest[kLanes];
  std::int64_t refused[kLanes];
};

// The integers are those of parts, or of pairs, times 2^bits, which are off by up to `loss`.
struct PairCut {
  int bits = 0;
  double loss = 0;
};

// From the words of integers below 2^bits: by their upper kCertainBits or fewer, cut at a word.
inline constexpr int kCertainBits = 157, kUpperWords = 5;  // what three FP64 numbers take (cpu/crt/round_pieces.hpp)
PairCut part_words(const LaneWords& x, int words, int n, int bits, LaneParts& parts);

// The same integers in pairs; what is refused stays as it is.
void pair_lanes(const LaneParts& parts, int n, LanePairs& pairs);

// Rounds the integers to nearest, and refuses what another way has to round. Refused lanes stay so. Range: as sum_of_parts, below
// 2^161.
void round_lanes(const LaneParts& parts, int n, const std::int32_t* exponent, double* result, std::int64_t* refused);
void round_lanes(const LaneParts& parts, int n, const std::int32_t* exponent, float* result, std::int64_t* refused);

// As near_update, of n lanes; those of `pairs` that are refused stay so. Range: factors of are_near_factors.
void update_lanes(LanePairs& pairs, const double* error, int n, const std::int32_t* exponent, double alpha, double beta,
                  const double* c, double* result);
void update_lanes(LanePairs& pairs, const double* error, int n, const std::int32_t* exponent, double alpha, double beta,
                  const double* c, float* result);

// Rounds the pairs of n lanes in the given direction to `result`, and refuses those of which not every number within `error` of
// the integer (0: the integer alone) rounds to the same bits, or where it cannot tell: of FP32 in any direction but to nearest.
// Refused lanes stay so. Range: error >= 0 and at least the true one; integers below 2^157 in magnitude.
void round_certain(LanePairs& pairs, const double* error, int n, const std::int32_t* exponent, Rounding rounding, double* result);
void round_certain(LanePairs& pairs, const double* error, int n, const std::int32_t* exponent, Rounding rounding, float* result);

}  // namespace ozfp4
