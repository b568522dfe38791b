// A whole product in machine words and FP64 numbers. The integers are those of the residues, so the bits are the same; without
// planes, a small product saves their cost.
#pragma once

#include <cstdint>
#include <optional>

#include "cpu/block_runner.hpp"
#include "cpu/limbs/unit.hpp"
#include "cpu/reconstruct/certified.hpp"
#include "cpu/runtime/buffer.hpp"
#include "cpu/scale/scale.hpp"
#include "cpu/words/operand.hpp"
#include "cpu/words/sums.hpp"

namespace ozfp4 {

// Whether extents, capacities and workspace allow it: whether the entries do shows where they are looked at.
bool may_multiply_words(std::int64_t m, std::int64_t n, std::int64_t k, const ScaleRequest& request,
                        std::int64_t workspace_limit);

// How the integers' sums are made: in words, or by limbs of eight bits on a unit. If both are possible the one that takes less
// time is used, if it holds the entries.
struct WordWays {
  bool words = false;
  const LimbUnit* limbs = nullptr;

  bool any() const { return words || limbs != nullptr; }
};

// The ways that take less time than planes, as far as the extents say: measured by benchmarks/cpu.py. `bits`: the capacity
// where the accuracy is scaled.
WordWays ways_that_pay(std::int64_t m, std::int64_t n, std::int64_t k, const Promise& promise, int bits);

class WordProduct {
 public:
  // Precondition: float64 or float32 operands, extents of 1 and more; may_multiply_words. Not more than `workspace_limit` bytes.
  WordProduct(const OperandView& a, const OperandView& b, const ScaleRequest& request, const WordWays& ways,
              std::int64_t workspace_limit, StageTimes& times);

  // Scales, encodes and multiplies; false where the entries are not served. `only`: where the product goes, if to one target,
  // for finish to write: nothing is written here.
  bool multiply(const Promise& promise, const Target* only);

  // Whether finish leaves none to repair, as it rounds scaled integers, or those of which their lines say enough.
  bool lists_none() const { return rounded_.has_value() && request_.accuracy != Accuracy::correct; }

  // The integers, rounded to a target: as cpu_reconstruct, or where `listed` is given, as cpu_reconstruct_certified.
  EntryCounts finish(const Promise& promise, const Target& target, const std::uint16_t* magnitudes, Listed* listed) const;

  // By limbs without norms.
  const Scales& scales_a() const { return a_->scales(); }
  const Scales& scales_b() const { return b_->scales(); }
  int residues() const { return bridges_; }
  // Limbs of an integer and what multiplied them; 0 and nullptr where the sums are those of words.
  int limbs() const { return limbs_ ? limbs_->limbs : 0; }
  const LimbUnit* unit() const { return limbs_ ? ways_.limbs : nullptr; }
  std::int64_t workspace() const;  // with chain_bytes (cpu/blocks.hpp)

 private:
  template <class Body>
  void for_groups(const Body& body);
  std::optional<LimbShape> limbs_that_serve() const;
  void raise_limbs(bool is_asked);
  void encode_limbs();
  template <class Use>
  void multiply_limbs(Diagonals diagonals, const Use& use) const;
  Diagonals enough() const { return lower_diagonals(limbs_->limbs) > 0 ? Diagonals::upper : Diagonals::all; }
  void join_limbs();
  void round_limbs(const ResultView& result) const;
  EntryCounts round_limbs_certain(const Target& target, Listed& listed) const;
  std::optional<EntryCounts> counts_of_rounded(const Promise& promise, const Target& target) const;
  bool may_round_exponents() const;
  bool multiply_words();

  ScaleRequest request_;
  WordWays ways_;
  std::int64_t workspace_limit_;
  StageTimes& times_;
  WordShape shape_;
  int bridges_ = 0;
  std::optional<LimbShape> limbs_;
  std::optional<EntryCounts> rounded_;  // where finish is to multiply by limbs: of the target, as far as lines say them
  Buffer memory_, limb_memory_;
  char* sums_ = nullptr;
  std::optional<WordOperand<1>> a_;
  std::optional<WordOperand<kSumColumns>> b_;
};

}  // namespace ozfp4
