// Loops over the lanes of a certified block, vectorised.
#pragma once

#include <cstdint>

#include "cpu/stages/columns.hpp"

namespace ozfp4 {

// Of one line: its counts of rounded and of nonzero entries, and 2^(c - 1), as numbers.
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

}  // namespace ozfp4
