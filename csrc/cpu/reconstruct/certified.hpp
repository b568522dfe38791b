// Stage 4 for results that promise more than the scaled product: which entries are kept, and which are listed for repair.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <vector>

#include "arith/accuracy/certificate.hpp"
#include "arith/modes.hpp"
#include "arith/update/update.hpp"
#include "cpu/runtime/kept.hpp"
#include "cpu/runtime/matrix_view.hpp"
#include "cpu/runtime/threads.hpp"
#include "cpu/scale/scale.hpp"
#include "plan/plan.hpp"

namespace ozfp4 {

struct Promise {
  Accuracy accuracy = Accuracy::scaled;
  int precision = 53;  // of the result's type

  bool certifies() const { return accuracy != Accuracy::scaled; }
};

// The addend of a product: alpha A B + beta C. C is read where data is not null, else beta is 0. It has the result's extents and
// may be the result itself: its entries are read before they are written.
struct TargetUpdate {
  bool is_asked = false;
  Update factors{};
  ResultView c{nullptr, ElementType::float64, 0, 0, 0, 0};

  double addend(std::int64_t row, std::int64_t column) const;
  // The addends of `n` columns from the given one on.
  void addends(std::int64_t row, std::int64_t column, int n, double* to) const;
};

// How many entries rest on what; those of special lines on nothing of it.
struct EntryCounts {
  std::int64_t exact = 0;
  std::int64_t depth = 0, magnitude = 0, chains = 0;   // in "standard": by certificate, and without one
  std::int64_t result = 0, pairs = 0, exact_sums = 0;  // in "correct": by the rounding test, and without it
  double largest_bound = 0;                            // where bounds are wanted

  void extend(const EntryCounts& other);
};

// The counts of all ranges of a loop: body(begin, end, counts).
template <class Body>
EntryCounts count_over(std::int64_t count, std::int64_t grain, const Body& body) {
  EntryCounts total;
  std::mutex lock;
  parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    EntryCounts counts;
    body(begin, end, counts);
    const std::lock_guard<std::mutex> hold(lock);
    total.extend(counts);
  });
  return total;
}

// Where a product goes, in which direction it is rounded, where bounds of its errors go (float64; data null: nowhere), and what
// it is added to.
struct Target {
  ResultView result;
  Rounding rounding = Rounding::nearest;
  ResultView bound{nullptr, ElementType::float64, 0, 0, 0, 0};
  TargetUpdate update{};

  bool has_bound() const { return bound.data != nullptr; }
  // Precondition: bounds are wanted.
  void put_bound(std::int64_t row, std::int64_t column, double value, EntryCounts& counts) const {
    counts.largest_bound = std::max(counts.largest_bound, value);
    put(bound, row, column, value);
  }
  // The entry of a product that is exactly 0.
  double of_zero(std::int64_t row, std::int64_t column) const;
  // The part of it that a block of the output fills.
  Target part(const ResultBlock& block) const;
};

// The entries of a block that are left to repair: a bit each, in words of 64 columns, row-major.
class Listed {
 public:
  Listed(std::int64_t rows, std::int64_t columns) : words_per_row_((columns + 63) / 64) {
    memory_->words.assign(static_cast<std::size_t>(rows * words_per_row_), 0);
    words_ = memory_->words.data();
  }
  static std::int64_t bytes(std::int64_t rows, std::int64_t columns) { return rows * ((columns + 63) / 64) * 16; }

  std::int64_t words_per_row() const { return words_per_row_; }
  std::uint64_t& word(std::int64_t row, std::int64_t index) { return words_[row * words_per_row_ + index]; }
  std::uint64_t word(std::int64_t row, std::int64_t index) const { return words_[row * words_per_row_ + index]; }
  // Places of the words that list anything, those of the same columns together.
  struct Place {
    std::int32_t row, index;
  };
  std::vector<Place> places() const;
  bool is_empty() const;

 private:
  struct Memory {
    std::vector<std::uint64_t> words;

    static constexpr std::size_t most_kept = 1 << 16;  // of 2048 x 2048 entries
    bool is_small() const { return words.capacity() <= most_kept; }
  };

  std::int64_t words_per_row_;
  std::uint64_t* words_;
  Kept<Memory> memory_;
};

// Lines of a block, from its first one on.
struct BlockLines {
  const std::int32_t* shift;
  const LineRecord* records;
  const std::uint8_t* special;

  BlockLines(const Scales& scales, std::int64_t first)
      : shift(scales.shift.data() + first), records(scales.records.data() + first), special(scales.special.data() + first) {}
};

// As cpu_reconstruct, to a target that is a block. Entries that the promise does not let keep are listed, and their results and
// bounds are void; entries of special lines are not, and their results are void, too. Void entries are not written where there is
// an update. `magnitudes`: as in CertifiedBlock. Precondition: the scales have records; `k` is the inner dimension.
EntryCounts cpu_reconstruct_certified(const Plan& plan, int count, const void* output, const Promise& promise, std::int64_t k,
                                      const BlockLines& rows, const BlockLines& columns, const std::uint16_t* magnitudes,
                                      const Target& target, Listed& listed);

}  // namespace ozfp4
