// The CRT in FP64 numbers (arith/crt/number_crt.hpp), vectorised over entries.
#pragma once

#include <cstdint>

#include "arith/crt/number_crt.hpp"
#include "cpu/stages/columns.hpp"

namespace ozfp4 {

// Integers of kLanes entries as sums of three numbers; `refused` is not 0 where they may not be.
struct LaneNumbers {
  double high[kLanes], middle[kLanes], low[kLanes];
  std::int64_t refused[kLanes];
};

// Of the entries whose residues by modulus g lie at residues + g * pitch. Range: 0 <= n <= kLanes, constants of some moduli.
void number_lanes(const NumberCrt& constants, const std::uint32_t* residues, std::int64_t pitch, int n, LaneNumbers& lanes);

// Rounds the integers to nearest; false where not every entry can be vouched for, and the results are void.
bool round_numbers(const LaneNumbers& lanes, int n, const std::int32_t* exponent, double* result);
bool round_numbers(const LaneNumbers& lanes, int n, const std::int32_t* exponent, float* result);

}  // namespace ozfp4
