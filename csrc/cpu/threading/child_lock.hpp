// A lock that is free again in a forked child, for long work: fork() does not wait for it.
#pragma once

#include <atomic>

namespace ozfp4 {

// Waits by yielding. In a child it is free, whoever held it: what it guards has to be whole at any time. Of static duration only.
class ChildLock {
 public:
  ChildLock();
  ChildLock(const ChildLock&) = delete;
  ChildLock& operator=(const ChildLock&) = delete;

  void lock();
  bool try_lock() { return !is_held_.exchange(true, std::memory_order_acquire); }
  void unlock() { is_held_.store(false, std::memory_order_release); }

 private:
  friend void free_child_locks();
  std::atomic<bool> is_held_{false};
  ChildLock* next_;
};

}  // namespace ozfp4
