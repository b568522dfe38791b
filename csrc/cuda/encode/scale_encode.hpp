// Stages 1 and 2 on the GPU in one launch that reads each operand once; for lines that fit into shared memory.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/encode/encode.hpp"
#include "cuda/scale/scale.hpp"

namespace ozfp4::cuda {

// Whether launch_scale_encode takes these operands on the current device: float64 or float32, all alike, of short enough lines,
// there is a kernel for the plan's integers with records or without, its code there has clusters, and the device holds one of
// such lines. None counts rounded entries.
bool can_scale_and_encode(const EncodePlan& plan, const DeviceOperand& one, bool has_records = false);
bool can_scale_and_encode(const EncodePlan& plan, const DeviceOperand& a, const DeviceOperand& b, bool has_records = false);

// What launch_scale and launch_encode of all lines of the operands leave, and the planes beyond the prefix as well. With
// clear_counters the launch may also start while the stream's latest work ends (programmatic dependent launch). Neither
// synchronises nor allocates; may be captured. Throws LaunchError. Precondition: what find_scale_error, find_encode_error and
// can_scale_and_encode have nothing against.
void launch_scale_encode(const EncodePlan& plan, const Operands<EncodeJob>& jobs, const CapacityRule& capacity,
                         const PrefixChoice& choice, void* scratch, cudaStream_t stream, void* clear_counters = nullptr);

}  // namespace ozfp4::cuda
