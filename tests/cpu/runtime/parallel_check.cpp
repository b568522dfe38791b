// parallel_for: every item is visited once, and an exception of a range comes out after all ranges have ended.
// When no memory is left to start a helper, the present threads do the work.
#include <atomic>
#include <cfenv>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "check.hpp"
#include "cpu/runtime/environment.hpp"
#include "cpu/runtime/threads.hpp"

namespace {

// Allocations that this thread may still make before one fails; negative: any number.
thread_local int allocations_left = -1;

}  // namespace

void* operator new(std::size_t bytes) {
  if (allocations_left == 0) {
    allocations_left = -1;
    throw std::bad_alloc();
  }
  if (allocations_left > 0) --allocations_left;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

using ozfp4::parallel_for;
using Body = std::function<void(std::int64_t, std::int64_t)>;

void check_coverage() {
  for (const std::int64_t count : {0, 1, 2, 3, 7, 64, 1000, 4097}) {
    for (const std::int64_t grain : {1, 2, 5, 1000, 5000}) {
      std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
      bool in_order = true;
      parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
        if (begin < 0 || begin >= end || end > count) in_order = false;
        for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
      });
      bool once = in_order;
      for (const auto& n : visits) once = once && n == 1;
      report("coverage", once, std::to_string(count) + " by " + std::to_string(grain));
    }
  }
}

void check_units() {
  for (const std::int64_t count : {0, 1, 15, 16, 17, 300, 1024, 4097}) {
    for (const std::int64_t grain : {1, 16, 20, 5000}) {
      std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
      std::atomic<bool> whole{true};
      ozfp4::parallel_for_units(count, 16, grain, [&](std::int64_t begin, std::int64_t end) {
        if (begin % 16 != 0 || (end % 16 != 0 && end != count) || begin >= end) whole = false;
        for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
      });
      bool once = whole;
      for (const auto& n : visits) once = once && n == 1;
      report("units", once, std::to_string(count) + " by " + std::to_string(grain));
    }
  }
}

// A range that starts at `bad` throws; all others are visited nevertheless, and none after the call has ended.
void check_exception_of_a_range(std::int64_t bad) {
  std::atomic<int> visited{0}, late{0};
  std::atomic<bool> over{false};
  std::string caught;
  const Body body = [&](std::int64_t begin, std::int64_t end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    late += over;
    if (begin <= bad && bad < end) throw std::runtime_error("at " + std::to_string(bad));
    visited += static_cast<int>(end - begin);
  };
  try {
    parallel_for(32, 1, body);
  } catch (const std::runtime_error& error) {
    caught = error.what();
  }
  const int visited_then = visited;
  over = true;
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  report("exception of a range", caught == "at " + std::to_string(bad), "caught '" + caught + "'");
  report("all other ranges ran", visited_then == 31 && visited == 31 && late == 0, std::to_string(visited_then));
}

// The allocation after `allocations` of this thread fails: the loop ran whole, or not at all where there was no loop yet.
void check_no_memory(int allocations) {
  std::atomic<int> visited{0}, late{0};
  std::atomic<bool> over{false};
  const Body body = [&](std::int64_t begin, std::int64_t end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    late += over;
    visited += static_cast<int>(end - begin);
  };
  bool refused = false;
  allocations_left = allocations;
  try {
    parallel_for(32, 1, body);
  } catch (const std::bad_alloc&) {
    refused = true;
  }
  allocations_left = -1;
  over = true;
  const int visited_then = visited;
  std::this_thread::sleep_for(std::chrono::milliseconds(80));
  report("no memory for a helper", visited_then == (refused ? 0 : 32) && visited == visited_then && late == 0,
         std::to_string(allocations) + " allocations: " + std::to_string(visited_then) + " of 32 items, " + std::to_string(late) +
             " ranges after the end");
}

// As additions of FP64 round: fegetround gives the mode of the x87 unit.
bool rounds_up() {
  volatile double one = 1.0, little = 0x1p-60;
  return one + little != 1.0;
}

// Ranges round to nearest, on threads that a caller who rounds otherwise has started and on its own; and that one's mode stays.
void check_modes() {
  std::fesetround(FE_UPWARD);
  std::atomic<int> otherwise{0};
  for (const std::int64_t count : {32, 1}) {
    for (int i = 0; i < 5; ++i) {
      parallel_for(count, 1, [&](std::int64_t, std::int64_t) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        otherwise += rounds_up();
      });
    }
  }
  report("rounding in ranges", otherwise == 0, std::to_string(otherwise));
  report("the caller's rounding", rounds_up());
  std::fesetround(FE_TONEAREST);
}

}  // namespace

int main() {
  setenv("OZFP4_NUM_THREADS", "4", 1);
  ozfp4::read_environment();
  check_modes();  // first: no thread is there yet
  check_coverage();
  check_units();
  for (const std::int64_t bad : {0, 1, 17, 31}) check_exception_of_a_range(bad);
  for (int allocations = 0; allocations < 10; ++allocations) check_no_memory(allocations);
  return finish();
}
