#include "cpu/runtime/buffer.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <new>

#include "cpu/threading/groups.hpp"
#include "cpu/threading/pool.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace ozfp4 {
namespace {

constexpr std::int64_t kHugePage = 2 << 20;
constexpr std::int64_t kAlwaysKept = 128 << 20, kMostKept = 1 << 30;
constexpr std::int64_t kMemoryShare = 16;

// Without a lock, which a process that forks meanwhile would find held.
std::int64_t most_kept() noexcept try {
  if (!has_helpers()) return kAlwaysKept;
  static std::atomic<std::int64_t> known{0};
  if (known == 0) {
    when_helpers_end(release_kept_buffers);
    known = std::clamp(memory_bytes() / kMemoryShare, kAlwaysKept, kMostKept);
  }
  return known;
} catch (...) {  // no memory to read files
  return kAlwaysKept;
}

std::align_val_t alignment_of(std::int64_t bytes) {
  return std::align_val_t{static_cast<std::size_t>(bytes >= 2 * kHugePage ? kHugePage : 64)};
}

char* take_from_system(std::int64_t bytes) {
  auto* memory = static_cast<char*>(::operator new(static_cast<std::size_t>(bytes), alignment_of(bytes)));
#if defined(MADV_HUGEPAGE)
  if (bytes >= 2 * kHugePage) madvise(memory, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);  // advice only: may fail
#endif
  return memory;
}

void give_to_system(char* memory, std::int64_t bytes) noexcept { ::operator delete(memory, alignment_of(bytes)); }

// Freed buffers, oldest first. Holds at most most_kept() bytes. No thread waits for the lock: if it is taken the thread goes to
// the system, so that a process that was forked while it was held goes on.
class KeptBuffers {
 public:
  // A kept buffer of `bytes` to twice that, so that a small request does not hold a large buffer; nullptr if there is none.
  char* take(std::int64_t& bytes) {
    const std::unique_lock<std::mutex> hold(lock_, std::try_to_lock);
    if (!hold.owns_lock()) return nullptr;
    Kept* best = nullptr;
    for (int i = 0; i < count_; ++i) {
      Kept& kept = kept_[static_cast<std::size_t>(i)];
      if (kept.bytes >= bytes && kept.bytes / 2 <= bytes && (best == nullptr || kept.bytes < best->bytes)) best = &kept;
    }
    if (best == nullptr) return nullptr;
    bytes = best->bytes;
    return remove(static_cast<int>(best - kept_.data())).memory;
  }

  void keep(char* memory, std::int64_t bytes) noexcept {
    const std::unique_lock<std::mutex> hold(lock_, std::try_to_lock);
    const std::int64_t most = most_kept();
    if (!hold.owns_lock() || bytes > most) return give_to_system(memory, bytes);
    while (count_ > 0 && (count_ == kSlots || total_ + bytes > most)) drop_oldest();
    kept_[static_cast<std::size_t>(count_++)] = {memory, bytes};
    total_ += bytes;
  }

  void clear() noexcept {
    const std::unique_lock<std::mutex> hold(lock_, std::try_to_lock);
    while (hold.owns_lock() && count_ > 0) drop_oldest();
  }

 private:
  struct Kept {
    char* memory;
    std::int64_t bytes;
  };
  static constexpr int kSlots = 64;  // a product with chains holds a dozen, and small ones of several shapes may take turns

  Kept remove(int index) noexcept {
    const auto at = kept_.begin() + index;
    const Kept kept = *at;
    std::copy(at + 1, kept_.begin() + count_, at);
    --count_;
    total_ -= kept.bytes;
    return kept;
  }

  void drop_oldest() noexcept {
    const Kept kept = remove(0);
    give_to_system(kept.memory, kept.bytes);
  }

  std::mutex lock_;
  std::array<Kept, kSlots> kept_{};
  int count_ = 0;
  std::int64_t total_ = 0;
};

// Never destroyed: a product may still run on another thread while the process ends.
KeptBuffers& kept_buffers() {
  static auto* buffers = new KeptBuffers;
  return *buffers;
}

}  // namespace

void BufferRelease::operator()(char* memory) const noexcept { kept_buffers().keep(memory, bytes); }

void release_kept_buffers() noexcept { kept_buffers().clear(); }

Buffer allocate_buffer(std::int64_t bytes) {
  bytes = std::max<std::int64_t>(bytes, 1);
  if (char* memory = kept_buffers().take(bytes)) return Buffer(memory, {bytes});
  // A product that needs more than is kept does not need the rest of it.
  if (bytes > most_kept()) release_kept_buffers();
  return Buffer(take_from_system(bytes), {bytes});
}

}  // namespace ozfp4
