// Clusters: blocks that run at the same time and write to each other's shared memory. In code of CodeFeature::clusters only.
#pragma once

#include <cstdint>
#include <cuda/ptx>

#include "cuda/code.hpp"
#include "cuda/multiply/ptx/warp.cuh"

namespace ozfp4::cuda {

inline constexpr unsigned kMaxClusterBlocks = 8;  // that every device with clusters has room for

// The place in block `block` of the cluster that has this address in the shared memory of the calling block.
__device__ __forceinline__ std::uint32_t address_in_block(std::uint32_t own, std::uint32_t block) {
  std::uint32_t address = 0;
#if OZFP4_IS_SM90_CODE
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(own), "r"(block));
#else
  (void)own, (void)block;
#endif
  return address;
}
__device__ __forceinline__ std::uint32_t address_in_block(const void* at, std::uint32_t block) {
  return address_in_block(shared_address(at), block);
}

// Until all threads of the cluster are here; what they wrote to each other's shared memory before can be read.
__device__ __forceinline__ void wait_for_cluster() {
#if OZFP4_IS_SM90_CODE
  __syncwarp();  // the barrier is one of whole warps
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

// Leaves 16 bytes where block `block` of the cluster has what lies at `at` in this block's shared memory.
__device__ __forceinline__ void write_to_block(const void* at, std::uint32_t block, const uint4& bytes) {
#if OZFP4_IS_SM90_CODE
  asm volatile("st.shared::cluster.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address_in_block(at, block)), "r"(bytes.x), "r"(bytes.y),
               "r"(bytes.z), "r"(bytes.w)
               : "memory");
#else
  (void)at, (void)block, (void)bytes;
#endif
}

// Arrivals in a block from those of its cluster are counted by a barrier in its shared memory. Unlike the barrier of the cluster
// it waits for nothing else that is on its way to memory.
class Inbox {
 public:
  // `barrier` lies at the same place in all blocks.
  __device__ __forceinline__ explicit Inbox(std::uint64_t* barrier) : barrier_(shared_address(barrier)) {}

  // All threads, first of all.
  __device__ __forceinline__ void open() const {
#if OZFP4_IS_SM90_CODE
    if (threadIdx.x == 0) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier_) : "memory");
      ::cuda::ptx::fence_mbarrier_init(::cuda::ptx::sem_release, ::cuda::ptx::scope_cluster);
    }
    __syncwarp();
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
  }

  // All threads, a barrier of the block after open: `bytes` will come, this block's own included. Until every block of the
  // cluster has opened its inbox.
  __device__ __forceinline__ void expect(std::uint32_t bytes) const {
#if OZFP4_IS_SM90_CODE
    if (threadIdx.x == 0) {
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier_), "r"(bytes) : "memory");
    }
    __syncwarp();
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#else
    (void)bytes;
#endif
  }

  // Sends a word to where block `block` of the cluster has what lies at `at` in this block's shared memory.
  __device__ __forceinline__ void send(const std::uint64_t* at, std::uint32_t block, std::uint64_t word) const {
#if OZFP4_IS_SM90_CODE
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u64 [%0], %1, [%2];" ::"r"(address_in_block(at, block)),
                 "l"(word), "r"(address_in_block(barrier_, block))
                 : "memory");
#else
    (void)at, (void)block, (void)word;
#endif
  }

  // Until everything has come.
  __device__ __forceinline__ void wait() const {
#if OZFP4_IS_SM90_CODE
    std::uint32_t is_complete = 0;
    while (is_complete == 0) {
      asm volatile(
          "{\n.reg .pred p;\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0;\nselp.u32 %0, 1, 0, p;\n}"
          : "=r"(is_complete)
          : "r"(barrier_)
          : "memory");
    }
#endif
  }

 private:
  std::uint32_t barrier_;
};

}  // namespace ozfp4::cuda
