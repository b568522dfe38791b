// Room for a bit for each entry of an operand's lines, which repair asks where much is listed.
#pragma once

#include <cstdint>

#include "arith/host_device.hpp"

namespace ozfp4::cuda {

// Bits come in units of 16 bytes, entry 128 u + i of a line in bit i of unit u; beyond K they are 0.
inline constexpr std::int64_t kMaskUnit = 128, kMaskUnitBytes = kMaskUnit / 8;

OZFP4_HD constexpr std::int64_t mask_units(std::int64_t inner) { return (inner + kMaskUnit - 1) / kMaskUnit; }

// [matrix][line of the block][unit], both addresses multiples of kMaskUnitBytes; what is there before does not matter. Null:
// there is no room, and every tile looks at its own lines.
struct MaskRoom {
  char *a = nullptr, *b = nullptr;
};

}  // namespace ozfp4::cuda
