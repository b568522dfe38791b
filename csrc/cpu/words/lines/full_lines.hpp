// Capacities of lines none of whose entries is 0: the depth alone decides, in few steps, which are found once for many lines.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "arith/accuracy/capacity.hpp"
#include "cpu/stages/scale.hpp"

namespace ozfp4 {

class FullLines {
 public:
  // Of lines of k entries. Range: 1 <= k.
  void prepare(std::int64_t k, const ScaleRequest& request);

  // As line_capacity. Range: facts of a line of k finite entries other than 0.
  int capacity(std::int64_t depth, int span) const {
    int step = 0;
    for (const std::int64_t from : from_) step += depth >= from;
    return capacity_of_span(accuracy_, span, most_[static_cast<std::size_t>(step)]);
  }

 private:
  static constexpr std::size_t kMostSteps = 4;
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  std::int64_t k_ = 0;
  Accuracy accuracy_ = Accuracy::scaled;
  int bits_ = 0, precision_ = 0;
  bool is_update_ = false;
  std::array<int, kMostSteps> most_{};               // of lines of a long span, step by step
  std::array<std::int64_t, kMostSteps - 1> from_{};  // depths at which the next step begins
};

}  // namespace ozfp4
