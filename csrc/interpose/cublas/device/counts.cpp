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
  const ForkLock::Guard hold(lock);
  Counts& own = counts()[context];
  if (!own.first) {
    own.first = static_cast<std::int64_t*>(allocate_on_host(most * sizeof(std::int64_t)));
    if (!own.first) return nullptr;
    std::memset(own.first, 0, most * sizeof(std::int64_t));
  }
  return own.given < most ? own.first + own.given++ : nullptr;
}

}  // namespace ozfp4::interpose::cublas
