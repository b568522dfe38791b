// Stages 1 and 2 on the GPU in one launch that reads each operand once; for lines that fit into shared memory.
#pragma once

#include <cuda_runtime_api.h>

#include "encode/cuda_encode.hpp"
#include "scale/cuda_scale.hpp"

namespace ozfp4::cuda {

// Whether launch_scale_encode takes these operands: float64 or float32, both alike, of short enough lines.
bool can_scale_and_encode(const EncodePlan& plan, const DeviceOperand& a, const DeviceOperand& b);

// Whether the current device has clusters, which the launch needs: sm_90 and later.
bool has_clusters();

// What launch_scale and launch_encode of all lines of both operands leave, and the planes beyond the prefix as well. With
// clear_counters the launch may also start while the stream's latest work ends (programmatic dependent launch). Neither
// synchronises nor allocates; may be captured. Range: as there, can_scale_and_encode and has_clusters.
cudaError_t launch_scale_encode(const EncodePlan& plan, const DeviceOperand& a, const DevicePlanes& planes_a,
                                const DeviceOperand& b, const DevicePlanes& planes_b, int capacity, const PrefixRule& rule,
                                const DeviceScales& scales, void* scratch, cudaStream_t stream, void* clear_counters = nullptr);

}  // namespace ozfp4::cuda
