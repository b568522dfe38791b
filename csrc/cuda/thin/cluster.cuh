// What blocks of a cluster say to each other, and their barrier. In code of CodeFeature::clusters only.
#pragma once

#include <cstdint>

#include "cuda/code.hpp"
#include "cuda/thin/line.cuh"

namespace ozfp4::cuda::thin {

// Until all threads of the cluster are here; what they wrote to each other's shared memory before can be read.
__device__ __forceinline__ void wait_for_cluster() {
#if OZFP4_IS_SM90_CODE
  __syncwarp();  // the barrier is one of whole warps
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

// Leaves it where block `block` of the cluster has what lies at `at` in this block's shared memory.
__device__ __forceinline__ void send(const Found* at, std::uint32_t block, const Found& found) {
#if OZFP4_IS_SM90_CODE
  std::uint32_t address;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(address)
               : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(at))), "r"(block));
  asm volatile("st.shared::cluster.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(found.head), "r"(found.lowest),
               "r"(found.nonzeros), "r"(found.exponent_sum)
               : "memory");
#else
  (void)at, (void)block, (void)found;
#endif
}

}  // namespace ozfp4::cuda::thin
