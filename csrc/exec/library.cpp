// Runs when the library is loaded, and when the process forks.
#include <pthread.h>

#include "exec/driver.hpp"
#include "exec/process.hpp"
#include "exec/record.hpp"
#include "exec/settings.hpp"
#include "exec/verify.hpp"

namespace ozfp4::exec {
namespace {

// The child of a fork has one thread, and begins with nothing counted.
void begin_child() {
  table_lock.unlock();
  forget_counts();
  forget_verified();
  cublas::forget_contexts();
}

__attribute__((constructor)) void begin() {
  settings();
  pthread_atfork([] { table_lock.lock(); }, [] { table_lock.unlock(); }, begin_child);
}

}  // namespace
}  // namespace ozfp4::exec
