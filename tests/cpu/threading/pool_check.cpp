// The threads of loops are kept from one loop to the next, shared by concurrent loops, and run on the caller's CPUs. A range
// starts none, and their number is the one set. A forked child, at rest or amid a loop, has its own.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "check.hpp"
#include "cpu/runtime/environment.hpp"
#include "cpu/runtime/threads.hpp"
#include "cpu/threading/cpus.hpp"

#if defined(__linux__)
#include <sched.h>
#endif

namespace {

// Threads that are started meanwhile, and those started while SIGUSR1 was not blocked.
std::atomic<bool> is_watching{false};
std::atomic<int> starts{0}, open_starts{0};

}  // namespace

#if defined(__linux__)
// Replaces the C library's function.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*), void* argument) {
  if (is_watching) {
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    ++starts, open_starts += sigismember(&mask, SIGUSR1) == 1 ? 0 : 1;
  }
  static const auto real = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  return real(thread, attributes, function, argument);
}
#endif

namespace {

using ozfp4::parallel_for;
using ozfp4::set_thread_count;
using Clock = std::chrono::steady_clock;

// The threads that took ranges of one loop of `ranges` ranges of a millisecond.
std::set<std::thread::id> threads_of_loop(int ranges) {
  std::mutex lock;
  std::set<std::thread::id> seen;
  parallel_for(ranges, 1, [&](std::int64_t, std::int64_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::lock_guard<std::mutex> hold(lock);
    seen.insert(std::this_thread::get_id());
  });
  return seen;
}

// Whether others than the caller help, within ten seconds: on a machine that has much else to do they come late.
bool has_helpers() {
  const auto end = Clock::now() + std::chrono::seconds(10);
  while (Clock::now() < end) {
    if (threads_of_loop(32).size() > 1) return true;
  }
  return false;
}

bool sums_right(std::int64_t count) {
  std::atomic<std::int64_t> sum{0};
  parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) sum += i;
  });
  return sum == count * (count - 1) / 2;
}

void check_threads_are_kept() {
  set_thread_count(4);
  std::set<std::thread::id> all;
  std::size_t most = 0;
  for (int i = 0; i < 20; ++i) {
    const auto seen = threads_of_loop(32);
    most = std::max(most, seen.size());
    all.insert(seen.begin(), seen.end());
  }
  report("several threads", most > 1 && most <= 4, std::to_string(most));
  report("the same threads", all.size() <= 4, std::to_string(all.size()) + " in 20 loops");
}

void check_nested() {
  set_thread_count(4);
  report("loop before it", has_helpers());
  std::atomic<int> elsewhere{0}, visited{0};
  parallel_for(2, 1, [&](std::int64_t begin, std::int64_t end) {  // two threads, and two that are idle
    const auto own = std::this_thread::get_id();
    for (std::int64_t i = begin; i < end; ++i) {
      parallel_for(50, 1, [&](std::int64_t first, std::int64_t last) {
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        elsewhere += std::this_thread::get_id() != own;
        visited += static_cast<int>(last - first);
      });
    }
  });
  report("loop within a range", visited == 100 && elsewhere == 0,
         std::to_string(visited) + " visited, " + std::to_string(elsewhere) + " by others");
  report("loop after it", has_helpers());
}

void check_concurrent_callers() {
  set_thread_count(4);
  std::atomic<int> wrong{0}, caught{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 8; ++caller) {
    callers.emplace_back([&, caller] {
      for (int i = 0; i < 300; ++i) {
        wrong += !sums_right(50 + i);
        try {
          parallel_for(32, 1, [&](std::int64_t begin, std::int64_t) {
            if (begin == caller) throw std::runtime_error(std::to_string(caller));
          });
        } catch (const std::runtime_error& error) {
          caught += error.what() == std::to_string(caller);
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  report("callers at once", wrong == 0 && caught == 8 * 300, std::to_string(wrong) + " wrong, " + std::to_string(caught));
}

// While another thread is inside a loop that does not end yet, this one gets through its own.
void check_a_held_up_loop_holds_up_no_other() {
  set_thread_count(3);
  std::atomic<bool> over{false};
  std::thread slow([&] {
    parallel_for(3, 1, [&](std::int64_t, std::int64_t) {
      while (!over) std::this_thread::yield();
    });
  });
  bool right = true;
  for (int i = 0; i < 100; ++i) right = right && sums_right(64);
  over = true;
  slow.join();
  report("beside a loop that does not end", right);
}

// The thread sanitizer ends a process of 8128 threads, and takes minutes to start two thousand.
#if defined(__SANITIZE_THREAD__)
constexpr int kManyThreads[] = {100, 200, 2};
#else
constexpr int kManyThreads[] = {1000, 65536, 2};
#endif

void check_many_threads() {
  for (const int count : kManyThreads) {
    set_thread_count(count);
    report("threads", sums_right(20000), std::to_string(count));
  }
}

// Whether the child exits with status 0 within a minute.
bool child_is_right(pid_t child) {
  const auto end = Clock::now() + std::chrono::minutes(1);
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (Clock::now() > end) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

pid_t fork_child() {
  const pid_t child = fork();
  if (child == 0) _exit(sums_right(1000) && has_helpers() ? 0 : 1);
  return child;
}

[[maybe_unused]] void check_fork() {
  set_thread_count(4);
  report("loop before a fork", sums_right(1000));
  report("forked child", child_is_right(fork_child()));

  std::atomic<bool> over{false}, right{true};
  std::vector<std::thread> loops;
  for (int i = 0; i < 2; ++i) {
    loops.emplace_back([&] {
      while (!over) {
        if (!sums_right(100)) right = false;
      }
    });
  }
  for (int i = 0; i < 50; ++i) report("child forked amid loops", child_is_right(fork_child()), std::to_string(i));
  over = true;
  for (std::thread& loop : loops) loop.join();
  report("loops that were forked amid", right);
}

void check_signals() {
#if defined(__linux__)
  sigset_t before, after;
  pthread_sigmask(SIG_BLOCK, nullptr, &before);
  set_thread_count(12);  // more than there are
  is_watching = true;
  parallel_for(64, 1, [](std::int64_t, std::int64_t) {});
  is_watching = false;
  pthread_sigmask(SIG_BLOCK, nullptr, &after);
  report("threads started", starts > 0);
  report("threads that could take a signal when they start", open_starts == 0, std::to_string(open_starts));
  report("the caller's signals afterwards", sigismember(&after, SIGUSR1) == sigismember(&before, SIGUSR1));
  set_thread_count(0);
#endif
}

void check_affinity() {
#if defined(__linux__)
  set_thread_count(4);
  cpu_set_t all, one;
  if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < 2) return;
  report("loop on all CPUs", has_helpers());
  int cpu = 0;
  while (!CPU_ISSET(static_cast<unsigned>(cpu), &all)) ++cpu;
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(cpu), &one);
  sched_setaffinity(0, sizeof one, &one);
  std::atomic<int> elsewhere{0};
  const auto visit = [&](std::int64_t, std::int64_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    elsewhere += sched_getcpu() != cpu;
  };
  for (int i = 0; i < 5; ++i) parallel_for(32, 1, visit);
  report("threads of who may use one CPU", elsewhere == 0, std::to_string(elsewhere) + " ranges elsewhere");
  set_thread_count(0);
  report("thread_count of who may use one CPU", ozfp4::thread_count() == 1, std::to_string(ozfp4::thread_count()));
  sched_setaffinity(0, sizeof all, &all);
  report("thread_count afterwards", ozfp4::thread_count() > 1);
  set_thread_count(4);
  elsewhere = 0;
  for (int i = 0; i < 1000 && elsewhere == 0; ++i) parallel_for(64, 1, visit);
  report("threads afterwards", elsewhere > 0);
#endif
}

}  // namespace

int main() {
  unsetenv("OZFP4_NUM_THREADS");
  unsetenv("OMP_NUM_THREADS");
  ozfp4::read_environment();
  check_threads_are_kept();
  check_signals();
  check_nested();
  check_concurrent_callers();
  check_a_held_up_loop_holds_up_no_other();
  check_affinity();
#if !defined(__SANITIZE_THREAD__)  // under which a child of several threads starts none
  check_fork();
#endif
  check_many_threads();
  return finish();  // with a thousand threads asleep
}
