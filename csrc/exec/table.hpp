// Counters by key, which threads share without a lock and without memory of their own.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace ozfp4::exec {

// A number as good as random, of each bit of `x`.
constexpr std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Open addressing in memory that is there from the start (pages that are never touched cost nothing). Two threads that meet a new
// key at once may both add it: whoever reads adds up equal keys. Key: trivially copyable, == and hash(). Value: what
// all zeros are a value of, made of atomics.
template <class Key, class Value, std::size_t capacity>
class Table {
 public:
  // The value of a key; null where the key is new and the table full.
  Value* at(const Key& key) {
    std::size_t place = key.hash() % capacity;
    for (std::size_t probe = 0; probe < most_probes; ++probe, place = (place + 1) % capacity) {
      Entry& entry = entries_[place];
      int state = entry.state.load(std::memory_order_acquire);
      if (state == ready && entry.key == key) return &entry.value;
      if (state == empty && entry.state.compare_exchange_strong(state, writing, std::memory_order_acquire)) {
        entry.key = key;
        entry.state.store(ready, std::memory_order_release);
        return &entry.value;
      }
    }
    return nullptr;
  }

  template <class Body>
  void for_each(const Body& body) {
    for (Entry& entry : entries_) {
      if (entry.state.load(std::memory_order_acquire) == ready) body(entry.key, entry.value);
    }
  }

  // Where no other thread is.
  void forget() {
    for (Entry& entry : entries_) {
      if (entry.state.load(std::memory_order_relaxed) == empty) continue;
      entry.value.forget();
      entry.state.store(empty, std::memory_order_release);
    }
  }

 private:
  enum : int { empty, writing, ready };
  static constexpr std::size_t most_probes = 64;
  struct Entry {
    std::atomic<int> state;
    Key key;
    Value value;
  };
  std::array<Entry, capacity> entries_;
};

}  // namespace ozfp4::exec
