#include "interpose/process/record.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

#include "interpose/process/fork.hpp"
#include "interpose/process/table.hpp"

namespace ozfp4::interpose {
namespace {

constexpr std::size_t capacity = 8192;
constexpr std::int64_t sampled = 16;  // the first calls of a CountedCall's kind, and of how many later ones one is timed

// In parts, of which each thread has one that it shares with few: threads that call at once do not wait for each other's.
constexpr unsigned parts = 4;
struct alignas(64) Part {
  std::atomic<std::int64_t> calls, nanoseconds;
};
struct Counters {
  std::array<Part, parts> of;
  Part& own() { return of[own_part()]; }
  void add(std::int64_t time) {
    Part& part = own();
    part.calls.fetch_add(1, std::memory_order_relaxed);
    part.nanoseconds.fetch_add(time, std::memory_order_relaxed);
  }
  std::int64_t calls() const {
    return std::accumulate(of.begin(), of.end(), std::int64_t{0}, [](std::int64_t sum, const Part& x) { return sum + x.calls; });
  }
  std::int64_t nanoseconds() const {
    return std::accumulate(of.begin(), of.end(), std::int64_t{0},
                           [](std::int64_t sum, const Part& x) { return sum + x.nanoseconds; });
  }
  void forget() {
    for (Part& part : of) part.calls = part.nanoseconds = 0;
  }

 private:
  static unsigned own_part() {
    static std::atomic<unsigned> threads{0};
    static thread_local unsigned own __attribute__((tls_model("initial-exec"))) = 0;  // counted from 1
    if (own == 0) own = threads.fetch_add(1, std::memory_order_relaxed) % parts + 1;
    return own - 1;
  }
};

Table<Kind, Counters, capacity> kinds;
Counters others[routine_count][reason_count];

auto order(const Kind& kind) { return std::make_tuple(kind.routine, kind.type, kind.reason, kind.m, kind.n, kind.k, kind.batch); }

void forget() {
  kinds.forget();
  for (auto& of_routine : others) {
    for (Counters& each : of_routine) each.forget();
  }
}
const bool forgets = (forget_in_children(forget), true);

Counters& counters_of(const Kind& kind) {
  Counters* found = kinds.at(kind);
  return found ? *found : others[static_cast<int>(kind.routine)][static_cast<int>(kind.reason)];
}

}  // namespace

void count(const Kind& kind, std::int64_t nanoseconds) { counters_of(kind).add(nanoseconds); }

CountedCall::CountedCall(const Kind& kind) {
  Part& part = counters_of(kind).own();
  nanoseconds_ = &part.nanoseconds;
  const std::int64_t before = part.calls.fetch_add(1, std::memory_order_relaxed);
  if (before >= sampled && before % sampled != 0) return;
  stands_for_ = before < sampled ? 1 : sampled;
  began_ = now();
}

std::vector<Row> counted() {
  std::vector<Row> rows;
  kinds.for_each([&](const Kind& kind, Counters& of) { rows.push_back({kind, of.calls(), of.nanoseconds()}); });
  std::sort(rows.begin(), rows.end(), [](const Row& x, const Row& y) { return order(x.kind) < order(y.kind); });
  const auto end = std::unique(rows.begin(), rows.end(), [](Row& x, const Row& y) {
    if (!(x.kind == y.kind)) return false;
    x.calls += y.calls;
    x.nanoseconds += y.nanoseconds;
    return true;
  });
  rows.erase(end, rows.end());
  for (int routine = 0; routine < routine_count; ++routine) {
    for (int reason = 0; reason < reason_count; ++reason) {
      const Counters& of = others[routine][reason];
      if (of.calls() == 0) continue;
      const Kind kind{
          static_cast<Routine>(routine), type_of(static_cast<Routine>(routine)), static_cast<Reason>(reason), -1, -1, -1};
      rows.push_back({kind, of.calls(), of.nanoseconds()});
    }
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& x, const Row& y) {
    if (is_caught(x.kind.reason) != is_caught(y.kind.reason)) return is_caught(x.kind.reason);
    return x.nanoseconds > y.nanoseconds;
  });
  return rows;
}

}  // namespace ozfp4::interpose
