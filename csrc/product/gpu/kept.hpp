// Things that are made for calls and kept for those like them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace ozfp4::product {

using Key = std::vector<std::int64_t>;

template <class... Numbers>
void add(Key& key, Numbers... numbers) {
  (key.push_back(static_cast<std::int64_t>(numbers)), ...);
}

struct KeyHash {
  std::size_t operator()(const Key* key) const {
    std::uint64_t hash = key->size();
    for (const std::int64_t number : *key) {
      hash = (hash ^ static_cast<std::uint64_t>(number)) * 0x9e3779b97f4a7c15u;
      hash ^= hash >> 32;
    }
    return static_cast<std::size_t>((hash * 0x9e3779b97f4a7c15u) >> 16);
  }
};
struct KeyEqual {
  bool operator()(const Key* x, const Key* y) const { return *x == *y; }
};

// Values by key, `most` of them; and of the large parts that values share, `most_parts`. Beyond either the values go that were
// unused for the longest time. A value costs as much to find among many as among few. Value: `shared_part(value)` is the place of
// its part; null for one that is not kept.
template <class Value>
class Kept {
 public:
  Kept(std::size_t most, std::size_t most_parts) : most_(most), most_parts_(most_parts) {}
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

  // The thing that was made for the key, or is made now by make(), without the lock, as that may wait for a device. Where several
  // threads make one at once, the first one's is kept. An exception of make() goes on, and nothing is kept.
  template <class Make>
  std::shared_ptr<const Value> find_or_make(const Key& key, const Make& make) {
    if (std::shared_ptr<const Value> found = find(key)) return found;
    std::shared_ptr<const Value> made = make();
    if (shared_part(*made) == nullptr) return made;
    const std::lock_guard<std::mutex> alone(lock_);
    if (const auto other = places_.find(&key); other != places_.end()) return other->second->value;
    ++users_[shared_part(*made)];
    entries_.push_front({key, made, shared_part(*made)});
    places_.emplace(&entries_.front().key, entries_.begin());
    while (entries_.size() > most_ || (users_.size() > most_parts_ && entries_.size() > 1)) forget_last();
    return made;
  }

  std::size_t size() {
    const std::lock_guard<std::mutex> alone(lock_);
    return entries_.size();
  }

 private:
  struct Entry {
    Key key;
    std::shared_ptr<const Value> value;
    const void* part;
  };

  std::shared_ptr<const Value> find(const Key& key) {
    const std::lock_guard<std::mutex> alone(lock_);
    const auto found = places_.find(&key);
    if (found == places_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->value;
  }

  void forget_last() {
    const Entry& last = entries_.back();
    places_.erase(&last.key);
    const auto users = users_.find(last.part);
    if (--users->second == 0) users_.erase(users);
    entries_.pop_back();
  }

  const std::size_t most_, most_parts_;
  std::mutex lock_;
  std::list<Entry> entries_;  // the one that was asked for last is the first
  std::unordered_map<const Key*, typename std::list<Entry>::iterator, KeyHash, KeyEqual> places_;
  std::unordered_map<const void*, std::size_t> users_;  // of each part
};

// A problem takes about a kilobyte of the host, and its plan 80.
inline constexpr std::size_t kMostProblems = 8192, kMostCudaPlans = 1024;

// Kept by the process, never destroyed: products may run until it ends. `most`: of a kind of problem always the same.
template <class Problem, class Make>
std::shared_ptr<const Problem> kept_or_made(const Key& key, const Make& make, std::size_t most = kMostProblems) {
  static auto* const kept = new Kept<Problem>(most, kMostCudaPlans);
  return kept->find_or_make(key, make);
}

}  // namespace ozfp4::product
