#include "interpose/cublas/device/counts.hpp"

#include <cstring>

#include "interpose/cublas/device/device.hpp"
#include "interpose/process/fork.hpp"

namespace ozfp4::interpose::cublas {
namespace {

constexpr std::int64_t most = 1024;
ForkLock lock;
std::int64_t* counts = nullptr;  // while none is given, or in memory that all devices write
std::int64_t given = 0;

// Children have no device that would write to it.
void forget() { counts = nullptr, given = 0; }
const bool forgets = (forget_in_children(forget), true);

}  // namespace

std::int64_t* new_count() {
  const ForkLock::Guard hold(lock);
  if (!counts) {
    counts = static_cast<std::int64_t*>(allocate_on_host(most * sizeof(std::int64_t)));
    if (!counts) return nullptr;
    std::memset(counts, 0, most * sizeof(std::int64_t));
  }
  return given < most ? counts + given++ : nullptr;
}

}  // namespace ozfp4::interpose::cublas
