// Locks and tables in a process that forks: the child has one thread, and begins with unlocked locks and nothing counted.
#pragma once

#include <mutex>

namespace ozfp4::exec {

// A lock that fork() waits for, so that the child never sees what it guards half changed. Of static duration only.
class ForkLock {
 public:
  ForkLock();
  using Guard = std::lock_guard<ForkLock>;
  void lock() { mutex_.lock(); }
  bool try_lock() { return mutex_.try_lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

// `forget` runs in every child, in the thread that forked.
void forget_in_children(void (*forget)());

}  // namespace ozfp4::exec
