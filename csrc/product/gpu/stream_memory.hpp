// Memory that the launches of one stream share, as they follow each other: counters that each leaves zero, and a workspace for
// small products. It saves the launch that clears counters, and an allocation.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <mutex>

#include "product/gpu/memory.hpp"

namespace ozfp4::product {

inline constexpr std::int64_t kSharedWorkspace = std::int64_t(1) << 20;

struct StreamMemory {
  explicit StreamMemory(const Aside& aside);

  DeviceMemory counters, workspace;
  std::mutex launching;       // held while a product is enqueued: threads on one stream enqueue one after the other
  bool is_forgotten = false;  // a launch failed on it, and its counters serve no more. Precondition: `launching` is held
};

// The memory of a stream of the current device, `device`. Null while the stream is captured, as a graph may run beside it;
// where the device has no memory left; and for the streams of a process beyond its first few hundred.
std::shared_ptr<StreamMemory> stream_memory(int device, cudaStream_t stream);

// Drops the memory after a launch that failed: the counters may not be zero. Precondition: `launching` is held.
void forget(const std::shared_ptr<StreamMemory>& memory);

}  // namespace ozfp4::product
