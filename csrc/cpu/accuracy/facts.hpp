// LineFacts of contiguous pieces of a line, and how many of its entries a conversion rounds.
#pragma once

#include <cstdint>

#include "arith/accuracy/line_facts.hpp"

namespace ozfp4 {

// Adds n entries to the facts, as add_entry for each. Range: in a DefaultFpMode.
void add_entries(LineFacts& facts, const double* x, std::int64_t n);
void add_entries(LineFacts& facts, const float* x, std::int64_t n);

// The finite entries x for which x 2^shift is no integer. Range: in a DefaultFpMode; a shift of a line that has them.
std::int64_t count_rounded(const double* x, std::int64_t n, int shift);
std::int64_t count_rounded(const float* x, std::int64_t n, int shift);

}  // namespace ozfp4
