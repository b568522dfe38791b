#include "interpose/cublas/device/counts.hpp"

#include <cstring>
#include <map>

#include "interpose/cublas/device/device.hpp"
#include "interpose/process/fork.hpp"
#include "interpose/process/table.hpp"

namespace ozfp4::interpose::cublas {
namespace {

constexpr std::uint64_t most = 1024;  // of a context
ForkLock lock;
auto& pages() {
  static auto& found = *new std::map<std::uint64_t, std::int64_t*>;  // those of contexts that are gone are never used again
  return found;
}

// Children have no device that would write to it.
void forget() { pages().clear(); }
const bool forgets = (forget_in_children(forget), true);

std::int64_t* page_of(std::uint64_t context) {
  {
    const ForkLock::Guard hold(lock);
    const auto there = pages().find(context);
    if (there != pages().end()) return there->second;
  }
  // Without the lock: the driver may wait for the device. Of two threads that are here at once one's memory stays unused.
  constexpr std::size_t bytes = most * sizeof(std::int64_t);
  auto* made = static_cast<std::int64_t*>(allocate_on_host(bytes));
  if (!made) return nullptr;
  std::memset(made, 0, bytes);
  const ForkLock::Guard hold(lock);
  return pages().emplace(context, made).first->second;
}

}  // namespace

std::int64_t* count_of(const void* caller) {
  const std::uint64_t context = current_context();
  std::int64_t* const page = context == 0 ? nullptr : page_of(context);
  return page ? page + mix(reinterpret_cast<std::uintptr_t>(caller)) % most : nullptr;
}

}  // namespace ozfp4::interpose::cublas
