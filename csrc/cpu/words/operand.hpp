// An operand of a product in words: scaled and encoded.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/gemm/sum_tile.hpp"
#include "cpu/limbs/shape.hpp"
#include "cpu/runtime/kept.hpp"
#include "cpu/runtime/matrix_view.hpp"
#include "cpu/scale/facts.hpp"
#include "cpu/scale/scale.hpp"
#include "cpu/words/near_sum.hpp"

namespace ozfp4 {

// Lines with a largest exponent below are left to others: nothing here depends on how a processor treats subnormal numbers.
inline constexpr int kLeastWordExponent = -900;

// `Lines`: 1 for A, with entries [row][k], kSumColumns for B.
template <std::int64_t Lines>
class WordOperand {
 public:
  // `planes` has room for all of the operand's, `pitch` entries apart. `copies_all`: none is read where it lies.
  WordOperand(const OperandView& view, char* planes, std::int64_t pitch, bool copies_all)
      : view_(view),
        values_(reinterpret_cast<double*>(planes)),
        words_(reinterpret_cast<std::uint64_t*>(planes) + pitch),
        pitch_(pitch),
        copies_all_(copies_all) {
    lines_->squares.resize(static_cast<std::size_t>(view.outer));
  }

  // Groups of `Lines` lines. Threads may be at different ones at once; each step is over for all groups before the next begins.
  std::int64_t groups() const { return pitch_ / (Lines * view_.inner); }

  // Copies the entries that are not read where they lie, and finds the scales. Precondition: request.bits at most
  // kMostNearCapacity where the accuracy is scaled; the same request for all three.
  void begin_look(const ScaleRequest& request);
  void look(std::int64_t begin, std::int64_t end, const ScaleRequest& request);
  // False where the entries do not fit this way.
  bool end_look(const ScaleRequest& request);

  // Copies what look left where it lies, which conversion needs.
  void copy(std::int64_t begin, std::int64_t end);

  // The integers, in FP64 and modulo 2^64, and what is known of them: the records' counts of rounded entries where the accuracy
  // is correct, and the scales' norm.
  void convert(std::int64_t begin, std::int64_t end, const ScaleRequest& request);
  void end_conversion();

  void reduce(std::int64_t begin, std::int64_t end, int bridges);

  // Instead of conversion: panels of kPanelLines lines as limbs, into planes of the given `shape`. Precondition: capacities that
  // its limbs hold; after raise.
  void cut(std::int64_t begin, std::int64_t end, const ScaleRequest& request, const LimbShape& shape, char* planes);

  // The shifts of integers that are raised as far as they have no more than so many bits; of those that are not, where that is 0.
  void raise(int most_bits, const ScaleRequest& request);
  const std::vector<std::int32_t>& limb_shift() const { return lines_->limb_shift; }

  std::int64_t lines() const { return view_.outer; }
  const Scales& scales() const { return lines_->scales; }
  const double* values() const { return values_; }
  const std::uint64_t* words() const { return words_; }
  const double* residues(int bridge) const { return values_ + (2 + bridge) * pitch_; }

 private:
  // Facts of all lines.
  struct OfLines {
    std::vector<double> squares;
    std::vector<std::int32_t> limb_shift;
    Scales scales;

    static constexpr std::size_t most_kept = 4096;  // with all that is known of them a megabyte
    bool is_small() const { return squares.capacity() <= most_kept; }
  };
  // Entries of a group: copied, or as they lie in the operand.
  struct Lying {
    const double* x;
    std::int64_t line_step, inner_step;
  };

  std::int64_t lines_of(std::int64_t group) const;
  bool stays(std::int64_t group) const;
  Lying lying(std::int64_t group) const;
  template <class T>
  bool copy_group(std::int64_t group);
  void put_scale(std::int64_t group, std::int64_t line, const ScaleRequest& request, const LaneFacts& facts,
                 std::int64_t first_lane, std::int64_t lanes);
  void find_group(std::int64_t group, const ScaleRequest& request);
  void convert_group(std::int64_t group, double* squares, std::int64_t* rounded);
  // For a line that is not exact.
  void count_rounded(std::int64_t line, std::int64_t rounded);

  OperandView view_;
  double* values_;
  std::uint64_t* words_;
  std::int64_t pitch_;
  Kept<OfLines> lines_;
  std::atomic<bool> is_served_{true};
  bool copies_all_;
};

extern template class WordOperand<1>;
extern template class WordOperand<kSumColumns>;

}  // namespace ozfp4
