// Sums of a few complex matrices times factors, every part of every entry rounded once.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "arith/element_type.hpp"

namespace ozfp4 {

// Rows of (re, im) pairs that lie side by side, so many bytes from row to row. Precondition: a finite factor.
struct ComplexTerm {
  std::complex<double> factor;
  const char* data;
  std::ptrdiff_t stride;
};

// Puts the sum of factor times entry over the terms into `c`, which may be one of them. Each part is the exact sum, rounded once
// to nearest in the type of the part, float64 or float32; an exact zero is +0. NaN and infinity follow IEEE, where each part of
// an entry is the sum of its products of two real numbers; finite numbers change nothing of what they make. Throws
// std::logic_error for more than kMostSummed terms.
void combine_complex(const std::vector<ComplexTerm>& terms, ElementType part, std::int64_t rows, std::int64_t columns, char* c,
                     std::ptrdiff_t stride);

}  // namespace ozfp4
