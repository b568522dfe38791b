// Repair of "correct" on the GPU, after the four stages. An entry that reconstruct listed becomes the sum of the products of its
// row and column, correctly rounded; the exact zero where all of these are zero.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "arith/host_device.hpp"
#include "arith/modes.hpp"
#include "cuda/planes.hpp"
#include "cuda/repair/listed.hpp"

namespace ozfp4::cuda {

// Room for a bit for each entry of an operand's lines, which repair asks where much is listed. Bits come in units of 16 bytes,
// entry 128 u + i of a line in bit i of unit u; beyond K they are 0.
inline constexpr std::int64_t kMaskUnit = 128, kMaskUnitBytes = kMaskUnit / 8;

OZFP4_HD constexpr std::int64_t mask_units(std::int64_t inner) { return (inner + kMaskUnit - 1) / kMaskUnit; }

// [matrix][line of the block][unit], both addresses multiples of kMaskUnitBytes; what is there before does not matter. Null:
// there is no room, and every tile looks at its own lines.
struct MaskRoom {
  char *a = nullptr, *b = nullptr;
};

// The result is a block of B's columns, those from first_column on of the whole operand `b`; K is whole. Listed entries have no
// NaN and no infinity in their lines.
struct RepairJob {
  DeviceResult result;
  ScaledOperand a, b;
  MaskRoom masks;
  std::int32_t first_column = 0;
  Rounding rounding = Rounding::nearest;
  Listed listed;
  DeviceUpdate update;             // C's entries, where the list has one, are finite
  DeviceResult bound;              // float64, of the result's extents; data null: no bounds
  RepairReport* report = nullptr;  // this launch's counts are added to it,
  bool starts_report = true;       // or stored
  RepairOrder order;
  bool overlap_previous = false;  // programmatic dependent launch
};

// Enqueues one kernel on the stream, which ends at once where nothing is listed; neither synchronises nor allocates; may be
// captured into a graph. Throws LaunchError. Precondition: views that reconstruct takes.
void launch_repair(const RepairJob& job, cudaStream_t stream);

}  // namespace ozfp4::cuda
