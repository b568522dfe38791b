// What became of every call, by routine and shape: how often, for how long, and why.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "exec/product.hpp"
#include "exec/reason.hpp"
#include "exec/routine.hpp"
#include "exec/table.hpp"

namespace ozfp4::exec {

inline std::int64_t now() {  // nanoseconds
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Calls of one kind. Extents of -1: of many shapes, of which no more are kept apart.
struct Kind {
  Routine routine{};
  Type type{};
  Reason reason{};
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  bool operator==(const Kind& other) const {
    return routine == other.routine && reason == other.reason && type == other.type && m == other.m && n == other.n &&
           k == other.k && batch == other.batch;
  }
  std::uint64_t hash() const {
    std::uint64_t x = mix(static_cast<std::uint64_t>(m) + (static_cast<std::uint64_t>(routine) << 48));
    x = mix(x + static_cast<std::uint64_t>(n) + (static_cast<std::uint64_t>(reason) << 48));
    return mix(x + static_cast<std::uint64_t>(k) + (static_cast<std::uint64_t>(batch) << 32));
  }
};

void count(const Kind& kind, std::int64_t nanoseconds);

// A call that is left, made while this lives. The first calls of each kind are timed, and then one in so many, which stands
// for all of these: two readings of a clock take as long as all else that such a call costs.
class CountedCall {
 public:
  explicit CountedCall(const Kind& kind);
  ~CountedCall() {
    if (stands_for_ > 0) nanoseconds_->fetch_add(stands_for_ * (now() - began_), std::memory_order_relaxed);
  }
  CountedCall(const CountedCall&) = delete;
  CountedCall& operator=(const CountedCall&) = delete;

 private:
  std::atomic<std::int64_t>* nanoseconds_;
  std::int64_t stands_for_ = 0, began_ = 0;
};

inline Kind kind_of(Routine routine, const Product& p, Reason reason) {
  return {routine, p.type, reason, p.m, p.n, p.k, p.batch};
}

struct Row {
  Kind kind;
  std::int64_t calls, nanoseconds;
};
// All kinds, those caught first, and among them those that took longest.
std::vector<Row> counted();

}  // namespace ozfp4::exec
