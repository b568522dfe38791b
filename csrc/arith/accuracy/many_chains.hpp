// Products from one place in a program (of `ozfp4 exec` a calling address) that leave many entries to chains of FP64 operations
// (docs/accuracy.md), which take as long as the native library's whole product: the next ones from there are the library's.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace ozfp4 {

class Chains {
 public:
  // Whether the next product is the library's, and one fewer after it.
  bool leave_next() {
    int left = to_leave_.load(std::memory_order_relaxed);
    while (left > 0 && !to_leave_.compare_exchange_weak(left, left - 1, std::memory_order_relaxed)) {
    }
    return left > 0;
  }
  // Records whether the last product that ozfp4 made had many.
  void found(bool many) {
    const int next = next_to_leave_;
    to_leave_ = many ? next : 0;
    next_to_leave_ = many ? std::min(2 * next, most) : least;
    is_tried_ = !many;
  }
  // Whether the last recorded product had few, and whether it had many: neither before the first.
  bool is_tried() const { return is_tried_; }
  bool has_many() const { return next_to_leave_ > least; }
  // On a GPU a count comes later: it may be that of the product before the last one, and the larger limit of both is taken.
  void enqueue(std::int64_t limit) { limit_ = std::max(limit, last_limit_.exchange(limit)); }
  bool is_many(std::int64_t count) const { return count > limit_; }

 private:
  // A product that takes as long as three native ones adds a sixteenth to the time of the 32 after it; "correct" may take longer.
  static constexpr int least = 32, most = 1 << 20;
  std::atomic<int> to_leave_{0}, next_to_leave_{least};
  std::atomic<bool> is_tried_{false};
  std::atomic<std::int64_t> limit_{0}, last_limit_{0};
};

// So many chains among the entries of a product take a small part of its time: on an H200 0.2 ms of the 2 of 4096^3.
inline std::int64_t few_chains(std::int64_t entries) { return entries / 2048 + 1; }

}  // namespace ozfp4
