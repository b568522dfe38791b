// The low bits of an integer as an entry of a result.
#pragma once

#include <cstdint>

namespace ozfp4::cuda {

// Precondition: 1, 2, 4 or 8 bytes; the address is a multiple of them.
__device__ __forceinline__ void store_entry(char* address, std::uint64_t value, int bytes) {
  switch (bytes) {
    case 1: *reinterpret_cast<std::uint8_t*>(address) = static_cast<std::uint8_t>(value); return;
    case 2: *reinterpret_cast<std::uint16_t*>(address) = static_cast<std::uint16_t>(value); return;
    case 4: *reinterpret_cast<std::uint32_t*>(address) = static_cast<std::uint32_t>(value); return;
    default: *reinterpret_cast<std::uint64_t*>(address) = value; return;
  }
}

}  // namespace ozfp4::cuda
