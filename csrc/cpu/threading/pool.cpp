#include "cpu/threading/pool.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "cpu/threading/cpus.hpp"

#if defined(__unix__) || defined(__APPLE__)
#include <dlfcn.h>
#include <pthread.h>
#endif

namespace ozfp4 {
namespace {

constexpr auto kIdle = std::chrono::seconds(10);  // after which a thread that had nothing to do ends
// Threads that one thread wakes: each of them wakes as many, because waking sixty takes one thread longer than a short loop.
constexpr int kWakes = 4;

#if defined(__unix__) || defined(__APPLE__)

// Signals are for the threads of the program, whose system calls they are to interrupt; those that a thread raises by what it
// does, and the clock of profilers, stay its own.
void leave_signals_to_others() {
  sigset_t set;
  sigfillset(&set);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF}) sigdelset(&set, own);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

// The library that holds this code stays loaded from now on: threads of the pool sleep in it.
void keep_loaded() {
  static const char inside = 0;
  Dl_info info;
  if (dladdr(&inside, &info) != 0 && info.dli_fname != nullptr) dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

#else

void leave_signals_to_others() {}
void keep_loaded() {}

#endif

std::atomic<void (*)()> at_end{nullptr};

class Pool {
 public:
  bool has_threads() const { return threads_ > 0; }

  void ask(const std::shared_ptr<SharedWork>& work, int helpers) {
    CpuSet cpus = CpuSet::of_this_thread();
    // The system likes to start and wake a thread on the CPU of who asks for it, where it waits for the very loop that it
    // should help with, above all while a BLAS keeps its own threads spinning on the other CPUs.
    cpus.remove_current();
    int missing;
    {
      const std::lock_guard<std::mutex> hold(lock_);
      offers_.push_back({work, helpers, std::max(0, helpers - awake_), cpus});
      ++asked_;
      missing = std::max(0, helpers - threads_);
      threads_ += missing;
      wake(offers_.back());
    }
    for (; missing > 0; --missing) {
      try {
        std::thread([this, cpus] { serve(cpus); }).detach();
      } catch (...) {
        break;  // no thread or no memory for one: whoever is there does the work
      }
    }
    if (missing > 0) {
      const std::lock_guard<std::mutex> hold(lock_);
      threads_ -= missing;
    }
  }

  void end(const SharedWork& work) {
    const std::lock_guard<std::mutex> hold(lock_);
    const auto at = std::find_if(offers_.begin(), offers_.end(), [&](const Offer& offer) { return offer.work.get() == &work; });
    if (at != offers_.end()) offers_.erase(at);
  }

 private:
  struct Offer {
    std::shared_ptr<SharedWork> work;
    int wanted;  // helpers that may still come
    int asleep;  // of whom nobody has woken any
    CpuSet cpus;
  };

  // Range: the lock is held.
  void wake(Offer& offer) {
    for (int i = 0; i < kWakes && offer.asleep > 0; ++i, --offer.asleep) offered_.notify_one();
  }

  // What a thread of the pool does.
  void serve(const CpuSet& first) {
    leave_signals_to_others();
    first.apply();
    CpuSet own = first;
    std::unique_lock<std::mutex> hold(lock_);
    for (;;) {
      const auto next = std::find_if(offers_.begin(), offers_.end(), [](const Offer& offer) { return offer.wanted > 0; });
      if (next != offers_.end()) {
        --next->wanted;
        wake(*next);
        const Offer offer = *next;
        hold.unlock();
        if (offer.cpus != own) offer.cpus.apply();
        own = offer.cpus;
        offer.work->work();
        stay_awake(own.count());
        hold.lock();
        --awake_;
      } else if (offered_.wait_for(hold, kIdle) == std::cv_status::timeout && !is_wanted()) {
        const bool is_last = --threads_ == 0;
        hold.unlock();
        void (*const action)() = at_end;
        if (is_last && action != nullptr) action();
        return;
      }
    }
  }

  // The loops of one product follow each other closely. No more threads stay awake than `cpus`, those beside the caller's.
  void stay_awake(int cpus) {
    const unsigned seen = asked_;
    if (++awake_ <= cpus) wait_awake([&] { return asked_ != seen; });
  }

  bool is_wanted() const {
    return std::any_of(offers_.begin(), offers_.end(), [](const Offer& offer) { return offer.wanted > 0; });
  }

  std::mutex lock_;
  std::condition_variable offered_;
  std::atomic<unsigned> asked_{0};  // for help, how often
  std::atomic<int> awake_{0};       // threads that look whether anybody does
  std::vector<Offer> offers_;       // oldest first
  std::atomic<int> threads_{0};     // that are there or about to be; written under the lock
};

// Never destroyed: its threads are there until the process ends. That of a parent is left as it is, locked or not.
std::atomic<Pool*> current_pool{nullptr};

#if defined(__unix__) || defined(__APPLE__)
[[maybe_unused]] const int at_fork = pthread_atfork(nullptr, nullptr, [] { current_pool = nullptr; });
#endif

// nullptr without memory for it. Without a lock, so that a process that forks meanwhile is safe.
Pool* pool() {
  Pool* found = current_pool;
  if (found != nullptr) return found;
  Pool* fresh = new (std::nothrow) Pool;
  if (fresh == nullptr || current_pool.compare_exchange_strong(found, fresh)) {
    keep_loaded();
    return fresh;
  }
  delete fresh;
  return found;
}

}  // namespace

void ask_for_help(const std::shared_ptr<SharedWork>& work, int helpers) noexcept {
  try {
    if (Pool* helping = pool()) helping->ask(work, helpers);
  } catch (...) {  // no memory to write the offer down: the caller does the work
  }
}

bool has_helpers() noexcept {
  const Pool* helping = current_pool;
  return helping != nullptr && helping->has_threads();
}

void when_helpers_end(void (*action)()) noexcept { at_end = action; }

void end_help(const SharedWork& work) noexcept {
  if (Pool* helping = current_pool) helping->end(work);
}

}  // namespace ozfp4
