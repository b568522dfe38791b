// What the producer and the consumers of a block agree on: where things lie in shared memory. Which steps of which tiles
// come in which order is in walk/steps.cuh.
#pragma once

#include <cstdint>

#include "cuda/multiply/hopper/config.cuh"
#include "cuda/multiply/walk/steps.cuh"

namespace ozfp4::cuda::sm90 {

template <class C>
struct SharedLayout {
  std::uint32_t base;
  __device__ __forceinline__ std::uint32_t a(std::uint32_t stage) const {
    return base + stage * (C::kStageBytesA + C::kStageBytesB);
  }
  __device__ __forceinline__ std::uint32_t b(std::uint32_t stage) const { return a(stage) + C::kStageBytesA; }
  __device__ __forceinline__ std::uint32_t staging(int group) const { return base + C::kStagingAt + group * C::kStagingBytes; }
  __device__ __forceinline__ std::uint32_t full(std::uint32_t stage) const { return base + C::kBarriersAt + 8 * stage; }
  __device__ __forceinline__ std::uint32_t empty(std::uint32_t stage) const { return full(stage) + 8 * C::kStages; }
};

}  // namespace ozfp4::cuda::sm90
