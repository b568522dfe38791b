// Workspace memory: aligned, uninitialised, and on huge pages where the system gives them, because the first touch of
// fresh 4 KiB pages costs as much as the arithmetic of a sweep.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace ozfp4 {

struct BufferDelete {
  std::align_val_t alignment{};
  void operator()(char* p) const { ::operator delete(p, alignment); }
};
using Buffer = std::unique_ptr<char, BufferDelete>;

// Throws std::bad_alloc (a MemoryError in Python) when the system has no such memory.
inline Buffer allocate_buffer(std::int64_t bytes) {
  constexpr std::int64_t huge_page = 2 << 20;
  const std::align_val_t alignment{static_cast<std::size_t>(bytes >= 2 * huge_page ? huge_page : 64)};
  auto* memory = static_cast<char*>(::operator new(static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)), alignment));
#if defined(MADV_HUGEPAGE)
  if (bytes >= 2 * huge_page) madvise(memory, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);  // advice only: may fail
#endif
  return Buffer(memory, BufferDelete{alignment});
}

}  // namespace ozfp4
