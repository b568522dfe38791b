// The rounding test of accuracy="correct" for the common case, vectorised over entries.
#pragma once

#include <cstdint>

#include "arith/accuracy/modes.hpp"
#include "cpu/accuracy/update_lanes.hpp"

namespace ozfp4 {

// Rounds the pairs of n lanes in the given direction to `result`, and refuses those of which not every number within `error` of
// the integer (0: the integer alone) rounds to the same bits, or where it cannot tell: of FP32 in any direction but to nearest.
// Those that are refused stay so. Range: error >= 0 and at least the true one; integers below 2^157 in magnitude.
void round_certain(LanePairs& pairs, const double* error, int n, const std::int32_t* exponent, Rounding rounding, double* result);
void round_certain(LanePairs& pairs, const double* error, int n, const std::int32_t* exponent, Rounding rounding, float* result);

}  // namespace ozfp4
