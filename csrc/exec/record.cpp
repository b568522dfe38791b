#include "exec/record.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace ozfp4::exec {
namespace {

// Open addressing in memory that is there from the start (pages that are never touched cost nothing). Two threads that meet a new
// kind at once may both add it: equal kinds are added up in the end.
enum : int { empty, writing, ready };
struct Entry {
  std::atomic<int> state;
  Kind kind;
  Counts counts;
};
constexpr std::size_t capacity = 8192, most_shapes = capacity / 2;  // the rest has room for the kinds of many shapes
std::array<Entry, capacity> entries;
std::atomic<std::size_t> shapes;

auto key_of(const Kind& kind) {
  return std::make_tuple(kind.routine, kind.type, kind.reason, kind.m, kind.n, kind.k, kind.batch);
}

std::uint64_t hash(const Kind& kind) {
  std::uint64_t x = mix(static_cast<std::uint64_t>(kind.m) + (static_cast<std::uint64_t>(kind.routine) << 48));
  x = mix(x + static_cast<std::uint64_t>(kind.n) + (static_cast<std::uint64_t>(kind.reason) << 48));
  return mix(x + static_cast<std::uint64_t>(kind.k) + (static_cast<std::uint64_t>(kind.batch) << 32));
}

}  // namespace

Counts& counts_of(const Kind& kind) {
  for (std::size_t place = hash(kind) % capacity;; place = (place + 1) % capacity) {
    Entry& entry = entries[place];
    int state = entry.state.load(std::memory_order_acquire);
    if (state == ready && key_of(entry.kind) == key_of(kind)) return entry.counts;
    if (state != empty) continue;
    const Kind many{kind.routine, kind.type, kind.reason, -1, -1, -1};
    if (shapes.load(std::memory_order_relaxed) >= most_shapes && key_of(kind) != key_of(many)) return counts_of(many);
    if (!entry.state.compare_exchange_strong(state, writing, std::memory_order_acquire)) continue;
    shapes.fetch_add(1, std::memory_order_relaxed);
    entry.kind = kind;
    entry.state.store(ready, std::memory_order_release);
    return entry.counts;
  }
}

void forget_counts() {
  for (Entry& entry : entries) {
    if (entry.state.load(std::memory_order_relaxed) == empty) continue;
    entry.counts.calls = entry.counts.nanoseconds = 0;
    entry.state.store(empty, std::memory_order_release);
  }
  shapes = 0;
}

std::vector<Row> counted() {
  std::map<decltype(key_of({})), Row> found;
  for (const Entry& entry : entries) {
    if (entry.state.load(std::memory_order_acquire) != ready) continue;
    Row& row = found.try_emplace(key_of(entry.kind), Row{entry.kind, 0, 0}).first->second;
    row.calls += entry.counts.calls, row.nanoseconds += entry.counts.nanoseconds;
  }
  std::vector<Row> rows;
  for (const auto& [key, row] : found) rows.push_back(row);
  std::stable_sort(rows.begin(), rows.end(), [](const Row& x, const Row& y) {
    if (is_caught(x.kind.reason) != is_caught(y.kind.reason)) return is_caught(x.kind.reason);
    return x.nanoseconds > y.nanoseconds;
  });
  return rows;
}

}  // namespace ozfp4::exec
