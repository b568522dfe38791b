#include "interpose/cublas/device/counts.hpp"

#include <cstring>
#include <map>

#include "interpose/cublas/device/device.hpp"
#include "interpose/process/fork.hpp"

namespace ozfp4::interpose::cublas {
namespace {

constexpr std::int64_t most = 1024;  // of a context
struct Counts {
  std::int64_t* first = nullptr;
  std::int64_t given = 0;
};
ForkLock lock;
auto& counts() {
  static auto& found = *new std::map<std::uint64_t, Counts>;  // those of contexts that are gone are never used again
  return found;
}

// Children have no device that would write to it.
void forget() { counts().clear(); }
const bool forgets = (forget_in_children(forget), true);

}  // namespace

std::int64_t* new_count(std::uint64_t context) {
  const auto give = [context](std::int64_t* first) {
    const ForkLock::Guard hold(lock);
    Counts& own = counts()[context];
    if (!own.first) own.first = first;
    return own.first && own.given < most ? own.first + own.given++ : nullptr;
  };
  if (std::int64_t* known = give(nullptr)) return known;
  {
    const ForkLock::Guard hold(lock);
    if (counts()[context].first) return nullptr;  // all are given
  }
  // Without the lock: the driver may wait for the device. Of two threads that are here at once one's memory stays unused.
  auto* first = static_cast<std::int64_t*>(allocate_on_host(most * sizeof(std::int64_t)));
  if (first) std::memset(first, 0, most * sizeof(std::int64_t));
  return give(first);
}

}  // namespace ozfp4::interpose::cublas
