#include "runtime/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif

namespace ozfp4 {
namespace {

int positive_from_environment(const char* name) {
  const char* text = std::getenv(name);
  return text ? std::max(0, std::atoi(text)) : 0;
}

int available_cpus() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
  return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace

int thread_count() {
  if (const int n = positive_from_environment("OZFP4_NUM_THREADS")) return n;
  if (const int n = positive_from_environment("OMP_NUM_THREADS")) return n;
  static const int cpus = available_cpus();
  return cpus;
}

void parallel_for(std::int64_t count, std::int64_t grain, const std::function<void(std::int64_t, std::int64_t)>& body) {
  if (count <= 0) return;
  const std::int64_t wanted = (count + grain - 1) / std::max<std::int64_t>(grain, 1);
  const std::int64_t threads = std::clamp<std::int64_t>(wanted, 1, thread_count());
  if (threads == 1) return body(0, count);

  // More ranges than threads, taken in turn, so that a thread that is held up does not hold up the loop.
  const std::int64_t ranges = std::min<std::int64_t>(wanted, 4 * threads);
  std::atomic<std::int64_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_lock;
  auto work = [&] {
    for (std::int64_t i = next++; i < ranges; i = next++) {
      try {
        body(count * i / ranges, count * (i + 1) / ranges);
      } catch (...) {
        const std::lock_guard<std::mutex> hold(failure_lock);
        if (!failure) failure = std::current_exception();
      }
    }
  };
  std::vector<std::thread> helpers;
  for (std::int64_t i = 1; i < threads; ++i) {
    try {
      helpers.emplace_back(work);
    } catch (const std::system_error&) {
      break;  // fewer threads than asked for: the others do the work
    }
  }
  work();
  for (std::thread& helper : helpers) helper.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace ozfp4
