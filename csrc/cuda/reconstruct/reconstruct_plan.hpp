// The facts of a plan that the reconstruct kernels need: constants of the wide integers, and the weights of the residues or
// digits in the form of the plan's kernels.
//
// The short form: integers of at most 192 bits from at most 32 residues. The sum over the residues is a small matrix product:
// [entries x residues] times [residues x bytes of the weights]. Its accumulators are joined in pairs to columns of 16 bits, see
// arith/wide/column_crt.hpp. The right-hand operand is stored the way mma.m16n8k16 takes it from the 32 lanes of a warp.
//
// The long form, for all others: weights as words, and the sum as arith/wide/crt.hpp has it.
//
// Digits of scheme I are taken like residues, by weights of their own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "arith/wide/column_crt.hpp"
#include "arith/wide/crt.hpp"
#include "cuda/multiply/schedule.hpp"
#include "plan/moduli/moduli.hpp"
#include "plan/plan.hpp"
#include "plan/prefix.hpp"

namespace ozfp4 {

inline constexpr int kMaxColumnWords = 6;
inline constexpr int kMaxColumnTiles = kMaxColumnWords / 2;  // tiles of 8 bytes
inline constexpr int kRowsPerStep = 16;                      // residues that one step along the inner dimension takes
inline constexpr int kMaxRowSteps = 2;
inline constexpr int kMaxColumnResidues = 32;  // the quotient of arith/wide/column_crt.hpp takes no more
// Words of weights that the long form may have: so many fit a kernel's parameters with all else. No moduli of a byte need more:
// 54 of them, which have the largest product, take 8 prefixes of 54 weights of 12 words.
inline constexpr int kMaxLongWeights = 7168;

struct LongTable {
  CrtProduct<kMaxWords> product[kMaxPrefixes];
  std::vector<std::uint32_t> weight;  // [prefix][residue or digit < all][word]
};

struct ReconstructPlan {
  int words = 0;           // short: 4 or 6 words of 32 bits; long: a long count of arith/wide/word_counts.hpp
  int row_steps = 0;       // short: of kRowsPerStep; 0: the plan has the long form
  int least = 0, all = 0;  // prefixes below: counts least .. all; of digits, all alone
  ColumnConstants<kMaxColumnWords> constants[kMaxPrefixes];  // only the first `words` (2 words) entries of each array count
  // [prefix][step][tile][lane]: lane 4 n + t holds byte 8 tile + n of the weights of the residues 16 step + 4 t ... + 3, the
  // first in its low byte.
  std::uint32_t fragment[kMaxPrefixes][kMaxRowSteps][kMaxColumnTiles][32];
  LongTable long_table;

  bool is_long() const { return row_steps == 0; }
};

// The constants of a prefix of the short form, with integers of Words words.
template <int Words>
ColumnConstants<Words> column_constants(const ReconstructPlan& plan, int prefix) {
  const auto& from = plan.constants[prefix];
  ColumnConstants<Words> constants{from.shift, from.inverse, from.offset, {}, {}, {}};
  std::copy_n(from.negated, 2 * Words, constants.negated);
  std::copy_n(from.product, Words, constants.product);
  std::copy_n(from.lowest, Words, constants.lowest);
  return constants;
}

// Throws std::length_error where the integers are longer than kMaxWords or the weights more than kMaxLongWeights; k matters
// for digits alone. `is_long`: of the long form, where the short one would be possible as well. Precondition: residues of one
// byte (alphabets fp4 and int8).
ReconstructPlan make_reconstruct_plan(const Plan& plan, std::int64_t k, bool is_long = false);

}  // namespace ozfp4
