// Stages 2 and 3 of a product, encode and multiply, block by block.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "cpu/blocks.hpp"
#include "cpu/encode/encode.hpp"
#include "plan/plan.hpp"

namespace ozfp4 {

// Seconds per stage, summed over blocks; 0 where they are not asked for: to look at clocks takes a hundredth of a short product.
struct StageTimes {
  double scale = 0, encode = 0, multiply = 0, reconstruct = 0, repair = 0;
  bool are_asked = true;

  void extend(const StageTimes& other) {
    scale += other.scale;
    encode += other.encode;
    multiply += other.multiply;
    reconstruct += other.reconstruct;
    repair += other.repair;
  }
};

// Adds the seconds of its lifetime to a stage's total.
class StageTimer {
 public:
  StageTimer(StageTimes& times, double StageTimes::* stage) : total_(times.are_asked ? &(times.*stage) : nullptr) {
    if (total_) start_ = std::chrono::steady_clock::now();
  }
  ~StageTimer() {
    if (total_) *total_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  StageTimer(const StageTimer&) = delete;
  StageTimer& operator=(const StageTimer&) = delete;

 private:
  double* total_;
  std::chrono::steady_clock::time_point start_;
};

// A block of the output as multiply leaves it, for the whole of K.
struct OutputBlock : ResultBlock {
  const void* output;
};

// Calls finish(block) for every block of the output, in `shape` and its rests, of the plan's first `count` moduli or groups. For
// complex products the shape is that of the planes, and the blocks hold residues of the real result. `progress`, if any, is
// called with the fraction done; it may throw to stop.
void run_blocks(const Plan& plan, int count, const EncodedOperand& a, const EncodedOperand& b, const BlockShape& shape,
                StageTimes& times, const std::function<void(double)>& progress,
                const std::function<void(const OutputBlock&)>& finish);

}  // namespace ozfp4
