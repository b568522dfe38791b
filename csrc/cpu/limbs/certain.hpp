// Correctly rounded results of a product by limbs, rounded and tested where the sums of its diagonals lie: what CertifiedBlock
// (cpu/accuracy/certified_block.hpp) makes of its integers for accuracy="correct", to nearest.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "cpu/accuracy/certified.hpp"
#include "cpu/limbs/round.hpp"

namespace ozfp4 {

class CertainLimbs {
 public:
  // Range: that of round_diagonals; scales with records, whose counts are those of the integers.
  CertainLimbs(const Scales& rows, const Scales& columns, int limbs, std::int64_t inner, const Target& target, Listed& listed);

  // The tile of results from an entry on. Threads may be at different ones at once.
  void round(std::int64_t row, std::int64_t column, const std::int32_t* sums);

  const EntryCounts& counts() const { return counts_; }

 private:
  // What LineErrors has of all lines.
  class Lines {
   public:
    explicit Lines(const Scales& scales);
    const Scales& scales() const { return scales_; }
    const std::int32_t* shift(std::int64_t first) const { return scales_.shift.data() + first; }
    bool is_special(std::int64_t line) const { return scales_.special[static_cast<std::size_t>(line)] != kFinite; }
    LineErrors from(std::int64_t first) const;

   private:
    const double* plane(int index) const { return numbers_.data() + static_cast<std::size_t>(index) * scales_.shift.size(); }

    const Scales& scales_;
    std::vector<double> numbers_;
  };

  bool settle(std::int64_t row, std::int64_t column, const std::int32_t* sums) const;

  Lines rows_, columns_;
  int limbs_;
  std::int64_t inner_;
  const Target& target_;
  Listed& listed_;
  EntryCounts counts_;
  std::mutex lock_;
};

}  // namespace ozfp4
