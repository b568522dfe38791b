// The threads that help with loops. They are started when a loop first wants them and kept for the next one, asleep; one that
// had nothing to do for some seconds ends. A process that is forked has none in the child, which starts its own; nothing waits
// for them when the process ends.
#pragma once

#include <chrono>
#include <memory>

namespace ozfp4 {

// Lets the other thread of a processor that has two have more of it.
inline void pause_processor() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Asks is_over() again and again for 30 microseconds, the time in which it is not worth it to sleep, and returns once it is true.
template <class IsOver>
void wait_awake(const IsOver& is_over) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(30);
  while (!is_over() && std::chrono::steady_clock::now() < until) {
    for (int i = 0; i < 16; ++i) pause_processor();
  }
}

// Work that several threads do together.
class SharedWork {
 public:
  virtual ~SharedWork() = default;
  // Does parts of the work until none is left to take. Called by the threads that help, once each; `thread` is the number of
  // the one that calls, 1 or above, the same for as long as it lives.
  virtual void work(int thread) noexcept = 0;
};

// Has up to `helpers` threads of the pool call work->work(thread), on CPUs that the calling thread may run on. Returns at once,
// and promises nothing: where the system has no memory or no threads, and while they help others, there are fewer or none. All
// callers share them: there are never more than the largest number that was asked for. Precondition: helpers >= 1.
void ask_for_help(const std::shared_ptr<SharedWork>& work, int helpers) noexcept;

// Whether there are such threads.
bool has_helpers() noexcept;

// An action of the last of them when all have ended for lack of work. One action, set once.
void when_helpers_end(void (*action)()) noexcept;

// The work wants no more helpers. Helpers that are at work finish their part.
void end_help(const SharedWork& work) noexcept;

}  // namespace ozfp4
