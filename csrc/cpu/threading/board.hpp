// Work for threads that are awake, which take it without a lock: a lock that fifteen of them want at once goes round for longer
// than a short loop takes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "cpu/threading/cpus.hpp"

namespace ozfp4 {

class SharedWork;

// What a thread that helps is given.
struct Job {
  std::shared_ptr<SharedWork> work;
  CpuSet cpus;  // where it may run meanwhile
};

// Holds one work at a time.
class Board {
 public:
  // For up to `helpers` threads; false where there is another, or somebody still reads the last one. Range: helpers >= 1.
  bool offer(const Job& job, int helpers) {
    if (is_taken_.exchange(true)) return false;
    if (readers_ != 0) {
      is_taken_ = false;
      return false;
    }
    job_ = job;
    offered_ = job.work.get();
    tickets_ = helpers;
    return true;
  }

  // Whether the work is here.
  bool has(const SharedWork& work) const { return offered_ == &work; }

  // Nobody may take it any more. Range: by who offered it, once.
  void withdraw() {
    tickets_ = 0;
    offered_ = nullptr;
    is_taken_ = false;
  }

  // Takes what is offered.
  bool take(Job& job) {
    if (tickets_ <= 0) return false;
    ++readers_;  // before the ticket, so that whoever offers next knows
    int left = tickets_;
    while (left > 0 && !tickets_.compare_exchange_weak(left, left - 1)) {
    }
    if (left > 0) job = job_;
    --readers_;
    return left > 0;
  }

 private:
  static constexpr int kLine = 64;              // bytes of a cache line
  alignas(kLine) std::atomic<int> tickets_{0};  // threads that may still take it, which look here all the time
  alignas(kLine) std::atomic<int> readers_{0};  // threads that take it, or try to
  std::atomic<bool> is_taken_{false};
  std::atomic<const SharedWork*> offered_{nullptr};
  Job job_;  // written while nobody reads it: no ticket, no reader
};

}  // namespace ozfp4
