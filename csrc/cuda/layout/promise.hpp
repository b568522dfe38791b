// What a product on the GPU promises of its result, and what it leaves beside it.
#pragma once

#include <cstdint>

#include "arith/accuracy/modes.hpp"

namespace ozfp4::cuda {

enum class Second : std::uint8_t {
  none,
  bound,      // a float64 bound of each entry's error
  upper,      // the same product rounded up, in the result's type
  overflows,  // of integers: one number of 64 bits, which grows by the entries that the result's type does not hold
};

struct Promise {
  Accuracy accuracy = Accuracy::scaled;
  Rounding rounding = Rounding::nearest;  // of the result; Range: nearest unless the accuracy is correct
  Second second = Second::none;
  int precision = 53;         // of the result's type: 53 or 24
  bool updates = false;       // the result is alpha A B + beta C
  bool is_whole = false;      // entries are integers, and so are results: the exact product modulo 2^w of their type, or
  std::uint64_t modulus = 0;  // modulo this number, 1 to 2^63 - 1; 0: none
  bool may_lengthen = false;  // the plan may get more moduli, because no caller keeps its planes; operands are float64

  bool certifies() const { return accuracy != Accuracy::scaled; }
  // Whether the rounded entries of the lines are counted: else every nonzero one of a line that is not exact is taken for one.
  bool counts_rounded() const { return accuracy == Accuracy::correct; }
  // Whether anybody asks what is known of the lines (arith/accuracy/certificate.hpp).
  bool has_records() const { return certifies() || second == Second::bound || updates; }
};

}  // namespace ozfp4::cuda
