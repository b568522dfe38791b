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
  DeviceResult bound;              // float64, of the result's extents; data null: nobody asks
  RepairReport* report = nullptr;  // this launch's counts are added to it,
  bool starts_report = true;       // or stored
  RepairOrder order;
  bool overlap_previous = false;  // programmatic dependent launch
};

// Enqueues one kernel on the stream, which ends at once where nothing is listed; neither synchronises nor allocates; may be
// captured into a graph. Throws LaunchError. Precondition: views that reconstruct takes.
void launch_repair(const RepairJob& job, cudaStream_t stream);

}  // namespace ozfp4::cuda
