#include "cpu/threading/child_lock.hpp"

#include <thread>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace ozfp4 {
namespace {

std::atomic<ChildLock*> first_lock{nullptr};

}  // namespace

void free_child_locks() {
  for (ChildLock* each = first_lock; each != nullptr; each = each->next_) each->unlock();
}

ChildLock::ChildLock() : next_(first_lock) {
  while (!first_lock.compare_exchange_weak(next_, this)) {
  }
#if defined(__unix__) || defined(__APPLE__)
  [[maybe_unused]] static const int at_fork = pthread_atfork(nullptr, nullptr, free_child_locks);
#endif
}

void ChildLock::lock() {
  while (!try_lock()) std::this_thread::yield();
}

}  // namespace ozfp4
