#include "cpu/runtime/threads.hpp"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif

namespace ozfp4 {
namespace {

constexpr int most_threads = 65536;

// OZFP4_NUM_THREADS; 0 where it is unset or empty.
int asked_for_by_us() {
  const char* text = std::getenv("OZFP4_NUM_THREADS");
  if (!text || !*text) return 0;
  char* end = nullptr;
  const long count = std::strtol(text, &end, 10);  // at the limits of long where it does not fit
  if (end == text || *end || count < 1 || count > most_threads) {
    throw std::invalid_argument("OZFP4_NUM_THREADS: '" + std::string(text) + "' is no number in 1.." +
                                std::to_string(most_threads));
  }
  return static_cast<int>(count);
}

// The outermost number of OMP_NUM_THREADS, which may be a list such as 4,2; 0 for what is none: the variable is OpenMP's.
int asked_for_by_openmp() {
  const char* text = std::getenv("OMP_NUM_THREADS");
  if (!text) return 0;
  char* end = nullptr;
  const long count = std::strtol(text, &end, 10);
  const bool ends = end != text && (!*end || *end == ',' || std::isspace(static_cast<unsigned char>(*end)));
  return ends ? static_cast<int>(std::clamp<long>(count, 0, most_threads)) : 0;
}

int available_cpus() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
  return std::max(1u, std::thread::hardware_concurrency());
}

// The ranges of one loop. The caller waits until every range is done, not for helpers: one that the system starts only when
// none is left finds that out and ends, and touches nothing but this object, which it shares.
class Loop {
 public:
  Loop(std::int64_t count, std::int64_t ranges, const std::function<void(std::int64_t, std::int64_t)>& body)
      : count_(count), ranges_(ranges), body_(body) {}

  void work() {
    for (std::int64_t i = next_++; i < ranges_; i = next_++) {
      std::exception_ptr failure;
      try {
        body_(count_ * i / ranges_, count_ * (i + 1) / ranges_);
      } catch (...) {
        failure = std::current_exception();
      }
      const std::lock_guard<std::mutex> hold(lock_);
      if (failure && !failure_) failure_ = failure;
      if (++done_ == ranges_) all_done_.notify_one();
    }
  }

  // Rethrows the first exception of a range.
  void wait() {
    std::unique_lock<std::mutex> hold(lock_);
    all_done_.wait(hold, [this] { return done_ == ranges_; });
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  const std::int64_t count_, ranges_;
  const std::function<void(std::int64_t, std::int64_t)>& body_;  // not used once every range is done
  std::atomic<std::int64_t> next_{0};
  std::mutex lock_;
  std::condition_variable all_done_;
  std::int64_t done_ = 0;
  std::exception_ptr failure_;
};

// The system likes to start a thread on the CPU of its parent, where it waits for the very loop that it should help with,
// above all while a BLAS keeps its own threads spinning on the other CPUs. This moves the calling helper off that CPU.
void leave_cpu([[maybe_unused]] int cpu) {
#if defined(__linux__)
  cpu_set_t set;
  if (cpu < 0 || sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) < 2) return;
  CPU_CLR(static_cast<unsigned>(cpu), &set);
  sched_setaffinity(0, sizeof set, &set);  // best effort: the helper works anywhere
#endif
}

int current_cpu() {
#if defined(__linux__)
  return sched_getcpu();
#else
  return -1;
#endif
}

std::atomic<int> count_asked_for{0};

}  // namespace

void set_thread_count(int count) { count_asked_for = count; }

int thread_count() {
  if (const int n = count_asked_for) return n;
  if (const int n = asked_for_by_us()) return n;
  if (const int n = asked_for_by_openmp()) return n;
  static const int cpus = available_cpus();
  return cpus;
}

void parallel_for(std::int64_t count, std::int64_t grain, const std::function<void(std::int64_t, std::int64_t)>& body) {
  if (count <= 0) return;
  const std::int64_t wanted = (count + grain - 1) / std::max<std::int64_t>(grain, 1);
  const std::int64_t threads = std::clamp<std::int64_t>(wanted, 1, thread_count());
  if (threads == 1) return body(0, count);

  // More ranges than threads, taken in turn, so that a thread that is held up does not hold up the loop.
  const auto loop = std::make_shared<Loop>(count, std::min<std::int64_t>(wanted, 8 * threads), body);
  const int cpu = current_cpu();
  for (std::int64_t i = 1; i < threads; ++i) {
    try {
      std::thread([loop, cpu] {
        leave_cpu(cpu);
        loop->work();
      }).detach();
    } catch (...) {
      break;  // no thread or no memory for one: whoever is there does the work; unwinding would leave them without `body`
    }
  }
  loop->work();
  loop->wait();
}

}  // namespace ozfp4
