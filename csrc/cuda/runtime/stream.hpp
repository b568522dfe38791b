// A stream's number.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace ozfp4::cuda {

// Unique in the process for all time, as the stream's address is not; -1 where the stream is being captured, or unknown.
std::int64_t stream_id(cudaStream_t stream, int device);

}  // namespace ozfp4::cuda
