// Products of integers in words of 32 or 64 bits, as the processor multiplies them: without planes or moduli. A CPU that
// multiplies eight words at once needs less time for it than for two products in FP64.
#pragma once

#include <cstdint>
#include <functional>

#include "arith/multiples.hpp"
#include "cpu/gemm/sum_tile.hpp"
#include "cpu/integers/matmul.hpp"
#include "cpu/runtime/buffer.hpp"

namespace ozfp4 {

// So many passes over the larger side take less time than tiles of which most is padding.
inline constexpr std::int64_t kThin = 3;

// Into which blocks a direct product is cut.
struct DirectShape {
  std::int64_t rows, columns, inners, word_bytes;

  std::int64_t padded_rows() const { return round_up(rows, kSumRows); }
  std::int64_t padded_columns() const { return round_up(columns, kSumColumns); }
  std::int64_t bytes() const { return (padded_rows() + padded_columns()) * inners * word_bytes; }
};

struct DirectOutcome {
  bool may_overflow = false;  // the norms do not exclude that an entry was wrapped, or were not asked
  int word_bits = 0;
  int products = 0;  // 1, or 0 where nothing was multiplied
  std::int64_t workspace = 0;
  LineRange exponents;  // where the norms were asked
  StageTimes times;
};

// The products of a stack of matrices of one shape. First every pair of them is looked at, then the way is decided once for all,
// and only then anything is written. Products of up to kThin rows or columns are multiplied line by line as they lie; the others
// in tiles.
class DirectMatmul {
 public:
  // `a`, `b` (seen from its columns) and `target` are any of the stack: only their extents and types count. Precondition: equal
  // inner dimensions; integer entries; targets of their extents that overlap neither.
  DirectMatmul(const OperandView& a, const OperandView& b, const IntegerTarget& target, bool wants_exact);

  // Whether the way depends on the sizes of entries.
  bool needs_norms() const;

  // Looks at one pair, where norms are needed.
  void look(const OperandView& a, const OperandView& b);

  // After a look at every pair. False where the exact product is wanted, or one modulo a number, and the norms do not prove that
  // all of it fits the result's type, by |C_ij| <= ||a_i|| ||b_j||. False also where not even a tile of one entry along K fits
  // the workspace.
  bool prepare(std::int64_t workspace_limit);

  // result = A B modulo 2^w of its type, or modulo the target's number. Precondition: prepared. `progress` as in
  // cpu_integer_matmul.
  void multiply(const OperandView& a, const OperandView& b, const ResultView& result,
                const std::function<void(double)>& progress);

  const DirectOutcome& outcome() const { return outcome_; }

 private:
  bool holds(int bits) const;
  bool is_empty() const { return m_ == 0 || n_ == 0 || k_ == 0; }
  bool is_thin() const { return m_ <= kThin || n_ <= kThin; }
  void multiply_lines(const OperandView& a, const OperandView& b, const ResultView& result,
                      const std::function<void(double)>& progress);
  template <class Word>
  void multiply_blocks(const OperandView& a, const OperandView& b, const ResultView& result,
                       const std::function<void(double)>& progress);

  const std::int64_t m_, n_, k_;
  const int bits_;
  const bool is_unsigned_, may_be_negative_, wants_exact_;
  const std::uint64_t modulus_;
  double square_ = 0;        // bound of every C_ij^2
  bool is_swapped_ = false;  // the transposed product is made, which has fewer padded tiles or the few lines on the other side
  DirectShape shape_{};
  Buffer memory_;
  DirectOutcome outcome_;
};

}  // namespace ozfp4
