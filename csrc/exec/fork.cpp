#include "exec/fork.hpp"

#include <pthread.h>

#include <array>

namespace ozfp4::exec {
namespace {

constexpr int most = 16;  // of each; there are a few, all known when the library is linked
struct Known {
  std::array<ForkLock*, most> locks{};
  std::array<void (*)(), most> forgets{};
  int lock_count = 0, forget_count = 0;
};

void prepare();
void in_parent();
void in_child();

// Made before any lock, whichever is made first.
Known& known() {
  static Known found = [] {
    pthread_atfork(prepare, in_parent, in_child);
    return Known{};
  }();
  return found;
}

void prepare() {
  for (int i = 0; i < known().lock_count; ++i) known().locks[i]->lock();
}

void in_parent() {
  for (int i = known().lock_count; i-- > 0;) known().locks[i]->unlock();
}

void in_child() {
  in_parent();
  for (int i = 0; i < known().forget_count; ++i) known().forgets[i]();
}

}  // namespace

ForkLock::ForkLock() { known().locks.at(known().lock_count++) = this; }

void forget_in_children(void (*forget)()) { known().forgets.at(known().forget_count++) = forget; }

}  // namespace ozfp4::exec
