#include "cpu/runtime/threads.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "arith/multiples.hpp"
#include "cpu/runtime/environment.hpp"
#include "cpu/runtime/fp_mode.hpp"
#include "cpu/threading/cpus.hpp"
#include "cpu/threading/groups.hpp"
#include "cpu/threading/pool.hpp"

namespace ozfp4 {
namespace {

// OZFP4_NUM_THREADS; 0 where it is unset or empty.
int asked_for_by_us() {
  const Environment& found = environment();
  if (found.threads < 0) {
    throw std::invalid_argument("OZFP4_NUM_THREADS: '" + found.thread_text + "' is no number in 1.." +
                                std::to_string(most_threads));
  }
  return found.threads;
}

// True in a thread that is at a range of a loop: a loop that begins there has that thread alone.
thread_local bool is_in_range = false;

// The ranges of one loop. The caller waits until every range is done, not for helpers. A helper that comes only when none is left
// leaves at once, and touches nothing but this object, which it shares.
//
// A thread begins with the ranges of its part and goes on with those that others have left. The loops of a product go over the
// same entries, which are in the caches of the threads that had them before.
class Loop final : public SharedWork {
 public:
  Loop(std::int64_t count, std::int64_t ranges, std::int64_t parts, LoopBody body)
      : count_(count), ranges_(ranges), body_(body), parts_(static_cast<std::size_t>(parts)) {
    for (std::int64_t i = 0; i < parts; ++i) {
      Part& part = parts_[static_cast<std::size_t>(i)];
      part.next = ranges * i / parts;
      part.end = ranges * (i + 1) / parts;
    }
  }

  void work(int thread) noexcept override {
    const DefaultFpMode mode;  // a thread of the pool has that of whoever started it
    std::int64_t mine = 0;
    std::exception_ptr failure;
    is_in_range = true;
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      Part& part = parts_[(static_cast<std::size_t>(thread) + p) % parts_.size()];
      for (std::int64_t i = part.next++; i < part.end; i = part.next++, ++mine) {
        try {
          body_(count_ * i / ranges_, count_ * (i + 1) / ranges_);
        } catch (...) {
          if (!failure) failure = std::current_exception();
        }
      }
    }
    is_in_range = false;
    if (failure) {
      const std::lock_guard<std::mutex> hold(lock_);
      if (!failure_) failure_ = std::move(failure);  // whoever catches it frees it
    }
    if (mine == 0 || (done_ += mine) != ranges_) return;
    const std::lock_guard<std::mutex> hold(lock_);  // of a caller who looks at done_ and goes to sleep
    all_done_.notify_one();
  }

  // Rethrows an exception of a range, if there was any.
  void wait() {
    const auto is_done = [this] { return done_ == ranges_; };
    wait_awake(is_done);  // for a range that is nearly done
    if (!is_done()) {
      std::unique_lock<std::mutex> hold(lock_);
      all_done_.wait(hold, is_done);
    }
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  struct Part {
    std::atomic<std::int64_t> next{0};
    std::int64_t end = 0;
    char apart[48] = {};  // of the next part's: each has a cache line
  };

  const std::int64_t count_, ranges_;
  const LoopBody body_;  // not used once every range is done
  std::vector<Part> parts_;
  std::mutex lock_;
  std::condition_variable all_done_;
  std::atomic<std::int64_t> done_{0};
  std::exception_ptr failure_;  // written under the lock before its ranges are done
};

std::atomic<int> count_asked_for{0};

// quota_cpus(), read once. Without a lock, which a process that forks meanwhile would find held.
int own_quota() {
  static std::atomic<int> known{-1};
  if (known < 0) known = quota_cpus();
  return known;
}

}  // namespace

void set_thread_count(int count) { count_asked_for = count; }

void check_thread_setting() {
  if (count_asked_for == 0) asked_for_by_us();
}

int thread_count() {
  if (const int n = count_asked_for) return n;
  if (const int n = asked_for_by_us()) return n;
  if (const int n = environment().openmp_threads) return n;
  const int cpus = available_cpus(), quota = own_quota();
  return quota > 0 ? std::min(quota, cpus) : cpus;
}

void parallel_for(std::int64_t count, std::int64_t grain, LoopBody body) {
  if (count <= 0) return;
  if (is_in_range) return body(0, count);
  // How many threads there may be is asked of the system: not for what one does alone.
  const std::int64_t wanted = (count + grain - 1) / std::max<std::int64_t>(grain, 1);
  const std::int64_t threads = wanted <= 1 ? 1 : std::min<std::int64_t>(wanted, thread_count());
  if (threads == 1) {
    const DefaultFpMode mode;
    return body(0, count);
  }

  // More ranges than threads, taken in turn, so that a thread that is held up does not hold up the loop.
  const auto loop = std::make_shared<Loop>(count, std::min<std::int64_t>(wanted, 8 * threads), threads, body);
  ask_for_help(loop, static_cast<int>(threads - 1));
  loop->work(0);
  end_help(*loop);
  loop->wait();
}

void parallel_for_units(std::int64_t count, std::int64_t unit, std::int64_t grain, LoopBody body) {
  parallel_for(ceil_div(count, unit), ceil_div(std::max<std::int64_t>(grain, 1), unit),
               [&](std::int64_t begin, std::int64_t end) { body(begin * unit, std::min(end * unit, count)); });
}

}  // namespace ozfp4
