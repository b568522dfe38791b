#include "cpu/words/lines/full_lines.hpp"

#include <stdexcept>

#include "plan/plan.hpp"

namespace ozfp4 {

void FullLines::prepare(std::int64_t k, const ScaleRequest& request) {
  const bool is_known = k_ == k && accuracy_ == request.accuracy && bits_ == request.bits && precision_ == request.precision &&
                        is_update_ == request.is_update;
  if (is_known) return;
  k_ = 0;  // until the steps are known
  accuracy_ = request.accuracy, bits_ = request.bits, precision_ = request.precision, is_update_ = request.is_update;
  const auto most_of = [&](std::int64_t depth) {
    const LineFacts facts{0, -2 * kMostBits, k, -depth};  // whose span is longer than every capacity
    return line_capacity(accuracy_, bits_, facts, precision_, is_update_);
  };
  // From there on lines are as deep as can be told, see is_deep.
  const std::int64_t deepest = kVeryDeep * k / 4 + 1;
  std::int64_t depth = 0;
  std::size_t steps = 0;
  most_.fill(most_of(0));
  from_.fill(kNever);
  while (most_of(deepest) != most_of(depth)) {
    if (++steps == kMostSteps) throw std::logic_error("FullLines: capacities have more steps than are known");
    std::int64_t below = depth, from = deepest;
    while (from - below > 1) {
      const std::int64_t middle = below + (from - below) / 2;
      (most_of(middle) == most_of(depth) ? below : from) = middle;
    }
    depth = from_[steps - 1] = from;
    for (std::size_t i = steps; i < kMostSteps; ++i) most_[i] = most_of(depth);
  }
  k_ = k;
}

}  // namespace ozfp4
