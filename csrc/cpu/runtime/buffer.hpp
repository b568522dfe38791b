// Workspace memory: aligned, uninitialised, and on huge pages where the system gives them. Freed buffers of up to 128 MiB in
// all are kept for the next product, because the first touch of fresh pages costs small products as much as a sweep over
// their operands.
#pragma once

#include <cstdint>
#include <memory>

namespace ozfp4 {

inline constexpr std::int64_t kKeptBytes = 128 << 20;

// Returns memory to the kept buffers or to the system.
struct BufferRelease {
  std::int64_t bytes = 0;
  void operator()(char* memory) const noexcept;
};
using Buffer = std::unique_ptr<char, BufferRelease>;

// At least `bytes` bytes, aligned to 64. Throws std::bad_alloc (a MemoryError in Python) when the system has no such memory.
Buffer allocate_buffer(std::int64_t bytes);

}  // namespace ozfp4
