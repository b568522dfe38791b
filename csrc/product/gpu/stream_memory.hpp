// What launches of one stream share, which follow each other: counters that they leave as they found them, zero, and a workspace
// for small products. It saves a launch that clears them, and asking for memory.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <mutex>

#include "product/gpu/memory.hpp"

namespace ozfp4::product {

inline constexpr std::int64_t kSharedWorkspace = std::int64_t(1) << 20;

class StreamMemory {
 public:
  StreamMemory();
  char* counters() const { return counters_.get(); }
  char* workspace() const { return workspace_.get(); }
  // Held while the launches of a product are enqueued: threads on one stream enqueue one after the other.
  std::mutex& launching() { return launching_; }

 private:
  DeviceMemory counters_, workspace_;
  std::mutex launching_;
};

// That of a stream of the current device, which is this one. Null while the stream is captured, as a graph may run beside it;
// where the device has no memory left; and for the streams of a process beyond its first few hundred.
std::shared_ptr<StreamMemory> stream_memory(int device, cudaStream_t stream);

// Behind a launch that failed: those before it have left the counters as they were in between.
void forget(const std::shared_ptr<StreamMemory>& memory);

}  // namespace ozfp4::product
