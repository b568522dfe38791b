// Loops over the lanes of a block, vectorised: bounds of errors, and integers as pairs of numbers that are rounded.
#pragma once

#include <cstdint>

#include "arith/modes.hpp"
#include "cpu/crt/columns.hpp"
#include "cpu/crt/round_pieces.hpp"

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

// Integers of kLanes entries as sums of two FP64 numbers, both integers: sum + rest, up to 2^-52 |rest|, as in SumOfPieces
// (cpu/crt/round_pieces.hpp). `refused` is not 0 where they are not.
struct LanePairs {
  double sum[kLanes], rest[kLanes];
  std::int64_t refused[kLanes];
};

// Puts the pairs of n integers, of which parts_of(i, refused) gives the parts. In one loop there would be more numbers than
// registers hold.
template <class PartsOf>
void put_pairs(int n, LanePairs& pairs, const PartsOf& parts_of) {
  double top[kLanes], middle[kLanes], low[kLanes];
  for (int i = 0; i < n; ++i) {
    const SumParts own = parts_of(i, pairs.refused[i]);
    top[i] = own.top, middle[i] = own.middle, low[i] = own.low;
  }
  for (int i = 0; i < n; ++i) {
    const SumOfPieces own = sum_of_parts({top[i], middle[i], low[i]});
    pairs.sum[i] = own.sum, pairs.rest[i] = own.rest;
  }
}

// The integers are those of pairs, off by up to `loss`, times 2^bits.
struct PairCut {
  int bits = 0;
  double loss = 0;
};

// From the words of integers below 2^bits: by their upper kCertainBits or fewer, cut at a word.
inline constexpr int kCertainBits = 157, kUpperWords = 5;  // what three FP64 numbers take (cpu/crt/round_pieces.hpp)
// Refused lanes stay as they are.
PairCut pair_words(const LaneWords& x, int words, int n, int bits, LanePairs& pairs);

// Rounds the integers to nearest, and refuses what another way has to round. Refused lanes stay so. Precondition: pairs that
// round as their integers do, which are below 2^161.
void round_lanes(LanePairs& pairs, int n, const std::int32_t* exponent, double* result);
void round_lanes(LanePairs& pairs, int n, const std::int32_t* exponent, float* result);

// As near_update, of n lanes; those of `pairs` that are refused stay so. Precondition: factors of are_near_factors.
void update_lanes(LanePairs& pairs, const double* error, int n, const std::int32_t* exponent, double alpha, double beta,
                  const double* c, double* result);
void update_lanes(LanePairs& pairs, const double* error, int n, const std::int32_t* exponent, double alpha, double beta,
                  const double* c, float* result);

// Rounds the pairs of n lanes in the given direction to `result`. It refuses a lane unless every number within `error` of the
// integer (0: the integer alone) is known to round to the same bits; FP32 is known to nearest alone. Refused lanes stay so.
// Precondition: error >= 0 and at least the true one; integers below 2^157 in magnitude.
void round_certain(LanePairs& pairs, const double* error, int n, const std::int32_t* exponent, Rounding rounding, double* result);
void round_certain(LanePairs& pairs, const double* error, int n, const std::int32_t* exponent, Rounding rounding, float* result);

}  // namespace ozfp4
