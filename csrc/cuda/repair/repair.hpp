// Stage 5 on the GPU: what reconstruct listed becomes fl(sum of the products of the operands' entries), correctly rounded;
// the exact zero where all of these are zero.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "arith/accuracy/modes.hpp"
#include "cuda/planes.hpp"
#include "cuda/repair/listed.hpp"
#include "cuda/repair/masks.hpp"

namespace ozfp4::cuda {

// What a second product says of a block: its certified entries are the correctly rounded ones. [matrix][row][pitch] entries of
// the result's type, and a list of those that it has not certified, of the extents and the pitch of the first's.
struct LongerResult {
  const int* units_used = nullptr;  // on the device: 0 where it was not made; null: there is none
  const char* value = nullptr;
  std::int64_t pitch = 0;
  Listed listed;
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
  LongerResult longer;             // Range: none where bounds are asked for, another rounding than to nearest, or an update
  DeviceUpdate update;             // C's entries, where the list has one, are finite
  DeviceResult bound;              // float64, of the result's extents; data null: nobody asks
  RepairReport* report = nullptr;  // this launch's counts are added to it,
  bool starts_report = true;       // or stored
  RepairOrder order;
  bool overlap_previous = false;  // programmatic dependent launch
};

// Enqueues one kernel on the stream, which ends at once where nothing is listed; neither synchronises nor allocates; may be
// captured into a graph. Throws LaunchError. Range: views that reconstruct takes.
void launch_repair(const RepairJob& job, cudaStream_t stream);

}  // namespace ozfp4::cuda
