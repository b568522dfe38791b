// Correctly rounded results of a product by limbs, rounded and tested where the sums of its diagonals lie: what CertifiedBlock
// (cpu/reconstruct/certified_block.hpp) makes of its integers for accuracy="correct", to nearest.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "cpu/limbs/round.hpp"
#include "cpu/limbs/unit.hpp"
#include "cpu/reconstruct/certified.hpp"

namespace ozfp4 {

class CertainLimbs {
 public:
  // Precondition: that of round_diagonals; scales with records, with the counts of the integers; shifts of all lines, as they are
  // raised.
  CertainLimbs(const Scales& rows, const std::int32_t* row_shift, const Scales& columns, const std::int32_t* column_shift,
               const Target& target, Listed& listed);

  // The tile of results from an entry on; false where the upper diagonals, if only they are there, do not say all of them.
  // Threads may be at different ones at once.
  bool round(std::int64_t row, std::int64_t column, const TileSums& sums);

  EntryCounts counts() const;

 private:
  // The largest LineErrors of all lines.
  class Lines {
   public:
    Lines(const Scales& scales, const std::int32_t* shift);
    const Scales& scales() const { return scales_; }
    const std::int32_t* shift(std::int64_t first) const { return shift_ + first; }
    int raised(std::int64_t line) const { return shift_[line] - scales_.shift[static_cast<std::size_t>(line)]; }
    // Whether no entry of the panel from this line on is rounded.
    bool is_exact(std::int64_t first) const { return is_exact_[static_cast<std::size_t>(first / kPanelLines)] != 0; }
    unsigned finite(std::int64_t first, std::int64_t count) const;
    LineErrors from(std::int64_t first) const;

   private:
    const double* plane(int index) const { return numbers_.data() + static_cast<std::size_t>(index) * scales_.shift.size(); }

    const Scales& scales_;
    const std::int32_t* shift_;
    std::vector<double> numbers_;
    std::vector<std::uint8_t> is_exact_;
  };

  bool is_certified(std::int64_t row, std::int64_t column, const std::int32_t* sums, int limbs) const;

  Lines rows_, columns_;
  const Target& target_;
  Listed& listed_;
  std::atomic<std::int64_t> exact_{0}, others_{0};  // entries by their error
  std::mutex lock_;
};

}  // namespace ozfp4
