// Stage 4 on the GPU: bytes of multiply -> CRT (or positional digits) -> FP64 or FP32, rounded once, specials patched.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cuda/reconstruct/reconstruct_plan.hpp"
#include "cuda/scale/scale.hpp"
#include "cuda/views.hpp"

namespace ozfp4::cuda {

// Output bytes of multiply: [plane][split][matrix][row][pitch]. Base, pitch and strides are multiples of 16 bytes. Bytes
// between the columns and the next multiple of 16, and planes of the plan beyond *units_used, may be read; what they hold
// does not matter.
struct DeviceOutputs {
  const std::uint8_t* data = nullptr;
  std::int64_t pitch = 0, matrix_stride = 0, split_stride = 0, plane_stride = 0;
  int splits = 1;  // residues (digits) of the splits are summed; at most kMaxSplits
};

// The result is a block of B's columns, those from first_column on: shift_b, special_b and b are those of the whole
// operand. Operands are read only where a row or column holds infinities.
struct ReconstructJob {
  DeviceResult result;
  DeviceOutputs outputs;
  DeviceScales scales;  // units_used may be null: all residues of the plan (digits always are); flags may be null: none
  DeviceOperand a, b;
  std::int32_t first_column = 0;
  bool overlap_previous = false;  // programmatic dependent launch: start while the previous kernel of the stream ends
};

// nullptr where the views keep the ranges above and the result is float64 or float32, else the reason.
const char* find_reconstruct_error(const ReconstructJob& job);

// Enqueues one kernel on the stream; neither synchronises nor allocates; may be captured into a graph. Throws LaunchError.
// Range: nothing that find_reconstruct_error has a reason against.
void launch_reconstruct(const ReconstructPlan& plan, const ReconstructJob& job, cudaStream_t stream);

}  // namespace ozfp4::cuda
