// Workspace memory: aligned, uninitialised, and on huge pages where the system gives them. Freed buffers are kept for the next
// product. The first touch of fresh pages costs small products as much as a sweep over their operands, and a product of 4096 a
// sixth of its time. Up to 128 MiB are kept in all. While the threads of the pool are there it is up to 1 GiB, but no more than a
// sixteenth of the memory. The last thread frees them as it ends, some seconds after the last product.
#pragma once

#include <cstdint>
#include <memory>

namespace ozfp4 {

// Returns memory to the kept buffers or to the system.
struct BufferRelease {
  std::int64_t bytes = 0;
  void operator()(char* memory) const noexcept;
};
using Buffer = std::unique_ptr<char, BufferRelease>;

// At least `bytes` bytes, aligned to 64. Throws std::bad_alloc (a MemoryError in Python) when the system has no such memory.
Buffer allocate_buffer(std::int64_t bytes);

// Gives back to the system what is kept.
void release_kept_buffers() noexcept;

}  // namespace ozfp4
