// A line of integers of up to 53 bits as FP64 numbers, and its residues modulo numbers of up to 23.5 bits: nothing passes through
// integers of 64 bits, for which vectors below AVX-512 have neither shifts nor conversions.
#pragma once

#include <cstdint>
#include <vector>

#include "arith/limbs/residue.hpp"
#include "cpu/encode/wide_line.hpp"
#include "plan/plan.hpp"

namespace ozfp4 {

// Both pieces of every integer (arith/limbs/residue.hpp).
struct NumberLine {
  double high[kLine], low[kLine];
};

// Integers of n entries at scale 2^shift; 0 for non-finite entries. Range: n <= kLine, a shift of FP64 lines, |x| 2^shift <=
// 2^53.
void quantise_numbers(const double* x, std::int64_t n, int shift, NumberLine& line);
void quantise_numbers(const float* x, std::int64_t n, int shift, NumberLine& line);

class NumberEncoder {
 public:
  // Takes the first `count` moduli. Range: serves.
  NumberEncoder(const Plan& plan, int count);

  // Planes of one line of n <= kLine integers; `pitch` is the distance between planes.
  void encode(const NumberLine& line, std::int64_t n, void* planes, std::int64_t pitch) const;

  // Whether it serves integers of up to 2^bits in magnitude.
  static bool serves(const Plan& plan, int bits) {
    return plan.has_moduli() && plan.alphabet.entry == PlaneEntry::fp64 && bits <= 53;
  }

 private:
  std::vector<PieceModulus<double>> moduli_;
};

}  // namespace ozfp4
