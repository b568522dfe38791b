#include "cpu/threading/pool.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "cpu/threading/cpus.hpp"

#if defined(__unix__) || defined(__APPLE__)
#include <dlfcn.h>
#include <pthread.h>

#include <csignal>
#endif

namespace ozfp4 {
namespace {

constexpr auto kIdle = std::chrono::seconds(10);  // after which a thread that had nothing to do ends
// Threads that one thread wakes: each of them wakes as many, because waking sixty takes one thread longer than a short loop.
constexpr int kWakes = 4;

#if defined(__unix__) || defined(__APPLE__)

// The library that holds this code stays loaded from now on: threads of the pool sleep in it.
void keep_loaded() {
  static const char inside = 0;
  Dl_info info;
  if (dladdr(&inside, &info) != 0 && info.dli_fname != nullptr) dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

#else

void keep_loaded() {}

#endif

std::atomic<void (*)()> at_end{nullptr};

// A lock that others hold for less than a microsecond: threads that all look at once would put each other to sleep by it.
class BriefLock {
 public:
  explicit BriefLock(std::mutex& lock) : hold(lock, std::defer_lock) { take(); }

  void take() {
    wait_awake([this] { return hold.try_lock(); });
    if (!hold.owns_lock()) hold.lock();
  }

  std::unique_lock<std::mutex> hold;
};

// Threads that are started while it lives have most signals blocked from their first moment on, as a thread begins with the mask
// of who starts it. Signals are for the threads of the program: they are to interrupt their system calls. Signals that a thread
// raises itself, and the clock of profilers, are not blocked.
class SignalsLeftToOthers {
 public:
#if defined(__unix__) || defined(__APPLE__)
  SignalsLeftToOthers() {
    sigset_t set;
    sigfillset(&set);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF}) sigdelset(&set, own);
    is_set_ = pthread_sigmask(SIG_BLOCK, &set, &before_) == 0;
  }
  ~SignalsLeftToOthers() {
    if (is_set_) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
#else
  SignalsLeftToOthers() {}  // so that one that is only there is no unused variable
#endif
  SignalsLeftToOthers(const SignalsLeftToOthers&) = delete;
  SignalsLeftToOthers& operator=(const SignalsLeftToOthers&) = delete;

#if defined(__unix__) || defined(__APPLE__)
 private:
  sigset_t before_;
  bool is_set_;
#endif
};

// The work that a helping thread is given.
struct Job {
  std::shared_ptr<SharedWork> work;
  CpuSet cpus;  // where it may run meanwhile
};

// Work for threads that are awake, which take it without a lock: a lock that fifteen of them want at once goes round for longer
// than a short loop takes. Holds one at a time.
class Board {
 public:
  // For up to `helpers` threads; false where there is another, or a thread still reads the last one. Precondition: helpers >= 1.
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

  // No thread may take it any more. Precondition: by who offered it, once.
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
  Job job_;  // written while no thread reads it: no ticket, no reader
};

class Pool {
 public:
  bool has_threads() const { return threads_ > 0; }

  void ask(const std::shared_ptr<SharedWork>& work, int helpers) {
    Job job{work, CpuSet::of_this_thread()};
    // The system likes to start and wake a thread on the CPU of its caller, where it waits for the very loop that it should help
    // with. It does so above all while the threads of a BLAS spin on the other CPUs.
    job.cpus.remove_current();
    if (awake_ >= helpers && board_.offer(job, helpers)) return;
    int missing, last;
    {
      const BriefLock brief(lock_);
      offers_.push_back({job, helpers, std::max(0, helpers - awake_)});
      ++asked_;
      missing = std::max(0, helpers - threads_);
      last = threads_ += missing;
      wake(offers_.back());
    }
    if (missing > 0) start(job.cpus, last, missing);
  }

  void end(const SharedWork& work) {
    if (board_.has(work)) return board_.withdraw();
    const BriefLock brief(lock_);
    const auto at =
        std::find_if(offers_.begin(), offers_.end(), [&](const Offer& offer) { return offer.job.work.get() == &work; });
    if (at != offers_.end()) offers_.erase(at);
  }

 private:
  struct Offer {
    Job job;
    int wanted;  // helpers that may still come
    int asleep;  // of these, not woken yet
  };

  // Precondition: the lock is held.
  void wake(Offer& offer) {
    for (int i = 0; i < kWakes && offer.asleep > 0; ++i, --offer.asleep) offered_.notify_one();
  }

  // So many threads, the last of which has the number `last`.
  void start(const CpuSet& cpus, int last, int missing) {
    {
      const SignalsLeftToOthers meanwhile;
      for (; missing > 0; --missing) {
        try {
          std::thread([this, cpus, number = last - missing + 1] { serve(cpus, number); }).detach();
        } catch (...) {
          break;  // no thread or no memory for one: whoever is there does the work
        }
      }
    }
    if (missing == 0) return;
    const BriefLock brief(lock_);
    threads_ -= missing;
  }

  // The loop of a thread of the pool.
  void serve(const CpuSet& first, int number) {
    first.apply();
    CpuSet own = first;
    Job job;
    unsigned seen = asked_ - 1;
    while (find_awake(job, seen, own.count()) || find_asleep(job, seen)) {
      if (job.cpus != own) job.cpus.apply();
      own = job.cpus;
      job.work->work(number);
    }
  }

  // The loops of one product follow each other closely. No more threads stay awake than `cpus`, those besides the caller's.
  // `seen` is what asked_ was when the thread last looked at the offers.
  bool find_awake(Job& job, unsigned& seen, int cpus) {
    bool is_found = false;
    const auto look = [&] {
      if (board_.take(job)) return is_found = true;
      if (asked_ == seen) return false;
      const BriefLock brief(lock_);
      return is_found = take_offer(job, seen);
    };
    if (++awake_ <= cpus) {
      wait_awake(look);
    } else {
      look();
    }
    --awake_;
    return is_found;
  }

  // False where there was nothing to do for so long that the thread is to end.
  bool find_asleep(Job& job, unsigned& seen) {
    job.work = nullptr;
    BriefLock brief(lock_);
    while (!take_offer(job, seen)) {
      if (offered_.wait_for(brief.hold, kIdle) != std::cv_status::timeout || is_wanted()) continue;
      const bool is_last = --threads_ == 0;
      brief.hold.unlock();
      void (*const action)() = at_end;
      if (is_last && action != nullptr) action();
      return false;
    }
    return true;
  }

  // Precondition: the lock is held.
  bool take_offer(Job& job, unsigned& seen) {
    seen = asked_;
    const auto next = std::find_if(offers_.begin(), offers_.end(), [](const Offer& offer) { return offer.wanted > 0; });
    if (next == offers_.end()) return false;
    --next->wanted;
    wake(*next);
    job = next->job;
    return true;
  }

  bool is_wanted() const {
    return std::any_of(offers_.begin(), offers_.end(), [](const Offer& offer) { return offer.wanted > 0; });
  }

  Board board_;
  std::mutex lock_;
  std::condition_variable offered_;
  std::atomic<unsigned> asked_{0};  // for help that is not on the board, how often
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
