// Where the stages, the staging boxes and the barriers of a block lie: 32-bit shared-memory addresses, by the configuration `C`.
#pragma once

#include <cstdint>

#include "arith/host_device.hpp"

namespace ozfp4::cuda {

template <class C>
struct SharedLayout {
  std::uint32_t base;  // aligned to 1024, where the swizzle starts
  __device__ __forceinline__ std::uint32_t a(std::uint32_t stage) const { return base + stage * C::kStageBytes; }
  __device__ __forceinline__ std::uint32_t b(std::uint32_t stage) const { return a(stage) + C::kStageBytesA; }
  __device__ __forceinline__ std::uint32_t staging(int group) const { return base + C::kStagingAt + group * C::kStagingBytes; }
  __device__ __forceinline__ std::uint32_t full(std::uint32_t stage) const { return base + C::kBarriersAt + 8 * stage; }
  __device__ __forceinline__ std::uint32_t empty(std::uint32_t stage) const { return full(stage) + 8 * C::kStages; }
};

// Offset of byte 16 * chunk of a row in a tile whose rows of kRowBytes bytes, 128 or 64, are swizzled as TMA does it: 16-byte
// chunks are exchanged within rows, so that eight rows that are read or written at once fall into different banks. The pattern
// repeats after 8 rows (of 1024, of 512 bytes).
template <int kRowBytes>
OZFP4_HD std::uint32_t swizzled_chunk(std::uint32_t row, std::uint32_t chunk) {
  const std::uint32_t key = kRowBytes == 128 ? row & 7 : (row >> 1) & 3;
  return row * kRowBytes + ((chunk ^ key) << 4);
}

}  // namespace ozfp4::cuda
