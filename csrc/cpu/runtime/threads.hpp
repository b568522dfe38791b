// Loops over several threads, which help with one after the other (threading/pool.hpp); a process may fork at any time.
#pragma once

#include <cstdint>

namespace ozfp4 {

inline constexpr int most_threads = 65536;

// The value of set_thread_count, else OZFP4_NUM_THREADS, else OMP_NUM_THREADS (environment.hpp), else the number of CPUs that the
// calling thread may run on now. The last is at most a control group's quota of CPU time, as it was on the first call, rounded
// up. std::invalid_argument where OZFP4_NUM_THREADS counts and is no number in 1..65536; another OMP_NUM_THREADS is passed over.
int thread_count();

// Throws where thread_count() does, and asks the system for nothing.
void check_thread_setting();

// For loops that begin from now on, in all threads of the process. Precondition: count >= 1, or 0 for what the environment says.
void set_thread_count(int count);

// The work for a range: a reference to a callable that outlives the loop.
class LoopBody {
 public:
  template <class Body>
  LoopBody(const Body& body)  // implicit, so that callers pass lambdas
      : body_(&body),
        call_([](const void* own, std::int64_t begin, std::int64_t end) { (*static_cast<const Body*>(own))(begin, end); }) {}
  void operator()(std::int64_t begin, std::int64_t end) const { call_(body_, begin, end); }

 private:
  const void* body_;
  void (*call_)(const void*, std::int64_t, std::int64_t);
};

// Calls body(begin, end) for disjoint ranges that cover [0, count), on at most thread_count() threads and with at least `grain`
// items each. It runs in the default floating-point mode (fp_mode.hpp) whatever that of the caller is. An exception that a range
// throws is rethrown after all have ended. Several threads may call at once; a loop within a range has the thread of that range
// alone.
void parallel_for(std::int64_t count, std::int64_t grain, LoopBody body);

// The same in ranges that begin at multiples of `unit` and are as long, but for the last one's end, for loops that take so many
// items at a time. Precondition: unit >= 1.
void parallel_for_units(std::int64_t count, std::int64_t unit, std::int64_t grain, LoopBody body);

}  // namespace ozfp4
