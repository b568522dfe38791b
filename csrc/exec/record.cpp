#include "exec/record.hpp"

#include <algorithm>
#include <tuple>

#include "exec/fork.hpp"
#include "exec/table.hpp"

namespace ozfp4::exec {
namespace {

constexpr std::size_t capacity = 8192;
constexpr std::int64_t sampled = 16;  // the first calls of a CountedCall's kind, and of how many later ones one is timed

struct Counters {
  std::atomic<std::int64_t> calls, nanoseconds;
  void forget() { calls = nanoseconds = 0; }
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

void count(const Kind& kind, std::int64_t nanoseconds) {
  Counters& own = counters_of(kind);
  own.calls.fetch_add(1, std::memory_order_relaxed);
  own.nanoseconds.fetch_add(nanoseconds, std::memory_order_relaxed);
}

CountedCall::CountedCall(const Kind& kind) {
  Counters& own = counters_of(kind);
  nanoseconds_ = &own.nanoseconds;
  const std::int64_t before = own.calls.fetch_add(1, std::memory_order_relaxed);
  if (before >= sampled && before % sampled != 0) return;
  stands_for_ = before < sampled ? 1 : sampled;
  began_ = now();
}

std::vector<Row> counted() {
  std::vector<Row> rows;
  kinds.for_each([&](const Kind& kind, Counters& of) { rows.push_back({kind, of.calls, of.nanoseconds}); });
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
      if (of.calls == 0) continue;
      const Kind kind{
          static_cast<Routine>(routine), type_of(static_cast<Routine>(routine)), static_cast<Reason>(reason), -1, -1, -1};
      rows.push_back({kind, of.calls, of.nanoseconds});
    }
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& x, const Row& y) {
    if (is_caught(x.kind.reason) != is_caught(y.kind.reason)) return is_caught(x.kind.reason);
    return x.nanoseconds > y.nanoseconds;
  });
  return rows;
}

}  // namespace ozfp4::exec
