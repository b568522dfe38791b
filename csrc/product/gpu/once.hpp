// What is found out once about a device, by trying it.
#pragma once

#include <map>
#include <mutex>
#include <utility>

namespace ozfp4::product {

// Threads that ask about one device wait for each other. Those of several do not: what the device of one thread has to end first
// may wait for what another thread has yet to enqueue on its own.
template <class Key, class Value>
class OncePerDevice {
 public:
  OncePerDevice() = default;
  OncePerDevice(const OncePerDevice&) = delete;
  OncePerDevice& operator=(const OncePerDevice&) = delete;

  // What was found for the key, which names the device as well, or what make() gives now. What make() throws goes on, and nothing
  // is kept. What is returned stays where it is.
  template <class Make>
  const Value& find_or_make(int device, const Key& key, const Make& make) {
    if (const Value* known = find(key)) return *known;
    const std::lock_guard<std::mutex> alone(lock_of(device));
    if (const Value* known = find(key)) return *known;
    Value made = make();
    const std::lock_guard<std::mutex> hold(lock_);
    return values_.emplace(key, std::move(made)).first->second;
  }

 private:
  const Value* find(const Key& key) {
    const std::lock_guard<std::mutex> hold(lock_);
    const auto found = values_.find(key);
    return found == values_.end() ? nullptr : &found->second;
  }

  std::mutex& lock_of(int device) {
    const std::lock_guard<std::mutex> hold(lock_);
    return locks_[device];
  }

  std::mutex lock_;
  std::map<int, std::mutex> locks_;
  std::map<Key, Value> values_;
};

}  // namespace ozfp4::product
