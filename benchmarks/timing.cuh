// Random bits, and a stream with a stopwatch, for stand-alone benchmarks.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/gpu.hpp"

__device__ inline std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdull;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ull;
  return x;
}

// 64 random bits, the upper ones best, for number i.
__device__ inline std::uint64_t random_bits(std::uint64_t seed, std::int64_t i) {
  return mix(seed * 0x9E3779B97F4A7C15ull + static_cast<std::uint64_t>(i));
}

// A stream of its own and the time that work on it takes.
class Stopwatch {
 public:
  Stopwatch() {
    REQUIRE(cudaEventCreate(&begin_));
    REQUIRE(cudaEventCreate(&end_));
    REQUIRE(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  cudaStream_t stream() const { return stream_; }

  // Milliseconds of what `enqueue()` puts on the stream.
  template <class Enqueue>
  double measure(const Enqueue& enqueue) const {
    REQUIRE(cudaEventRecord(begin_, stream_));
    enqueue();
    REQUIRE(cudaEventRecord(end_, stream_));
    REQUIRE(cudaEventSynchronize(end_));
    float ms = 0;
    REQUIRE(cudaEventElapsedTime(&ms, begin_, end_));
    return ms;
  }

 private:
  cudaEvent_t begin_, end_;
  cudaStream_t stream_;
};
