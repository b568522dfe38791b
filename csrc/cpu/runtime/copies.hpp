// Copies of arrays by several threads.
#pragma once

#include <array>
#include <cstdint>

namespace ozfp4 {

// Entries of up to three axes at `data`, `strides` in bytes.
struct StridedEntries {
  char* data;
  std::array<std::int64_t, 3> strides;
};

// Copies entries of `item` bytes. Several threads may call at once. Precondition: extents >= 0, item one of 1, 2, 4, 8 and 16; no
// entry of the destination lies where another one or one of the source does.
void copy_entries(const StridedEntries& destination, const StridedEntries& source, const std::array<std::int64_t, 3>& extents,
                  int item);

}  // namespace ozfp4
