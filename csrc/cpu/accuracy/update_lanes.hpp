// The common case of alpha A B + beta C, vectorised over entries.
#pragma once

#include <cstdint>

#include "cpu/stages/columns.hpp"

namespace ozfp4 {

// Integers of kLanes entries as sums of two FP64 numbers, both integers: sum + rest, up to 2^-52 |rest|. `refused` is not 0 where
// they are not.
struct LanePairs {
  double sum[kLanes], rest[kLanes];
  std::int64_t refused[kLanes];
};

// The integers are those of pairs times 2^bits, which are off by up to `loss`.
struct PairCut {
  int bits = 0;
  double loss = 0;
};

// From column sums. Range: integers below 2^157 in magnitude.
void pair_lanes(const Columns<5>& column, int n, const CrtProduct<5>& product, LanePairs& pairs);
void pair_lanes(const Columns<6>& column, int n, const CrtProduct<6>& product, LanePairs& pairs);

// From five words of integers below 2^kCertainBits.
void pair_words(const std::uint32_t (*word)[kLanes], int n, LanePairs& pairs);

// From three numbers whose sum they are.
void pair_lanes(const double* high, const double* middle, const double* low, int n, LanePairs& pairs);

// As near_update, of n lanes; those of `pairs` that are refused stay so. Range: factors of are_near_factors.
void update_lanes(LanePairs& pairs, const double* error, int n, const std::int32_t* exponent, double alpha, double beta,
                  const double* c, double* result);
void update_lanes(LanePairs& pairs, const double* error, int n, const std::int32_t* exponent, double alpha, double beta,
                  const double* c, float* result);

}  // namespace ozfp4
