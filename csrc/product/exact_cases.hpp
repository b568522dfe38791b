// Products of integers whose results FP64 holds, by which a unit is tried before its first use.
#pragma once

#include <cstdint>
#include <vector>

namespace ozfp4::product {

struct ExactCase {
  int m, n, k;
  std::vector<double> a, b;  // rows of A; columns of B
  std::vector<double> c;     // rows of A B
};

// Extents off the tiles' multiples. Entries of all bits meet ones and minus ones, whose integers have all bits as well; dense
// ones of 20 bits make long sums. Made once.
const std::vector<ExactCase>& exact_cases();

// Of "standard" alone: chains of fused multiply-adds whose products are rounded first and then cancel: in another order, or by
// multiplications apart, nothing is left. Made once.
const std::vector<ExactCase>& chain_cases();

// The same as exact_cases, of which one is of short K, one small and two have few columns, or rows.
const std::vector<ExactCase>& small_exact_cases();

}  // namespace ozfp4::product
