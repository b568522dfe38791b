// Asynchronous hardware that the families use. Mbarriers in shared memory (sm_80 and later), named barriers among warps, and
// registers that warpgroups give each other. Bulk tensor copies (TMA): tiles of the operands into shared memory, finished boxes
// of bytes out of it. Addresses are 32-bit shared-memory addresses.
//
// Loads carry no cache hint on purpose. With a policy from createpolicy, L2 no longer merges the requests of neighbouring
// multiprocessors for the same lines. Its traffic then doubles (measured on an H200: 456 instead of 238 million sectors).
#pragma once

#include <cuda.h>

#include <cstdint>
#include <cuda/ptx>

#include "cuda/code.hpp"
#include "cuda/multiply/ptx/warp.cuh"

namespace ozfp4::cuda::ptx {

namespace toolkit = ::cuda::ptx;

__device__ __forceinline__ std::uint64_t* barrier_at(std::uint32_t address) {
  return static_cast<std::uint64_t*>(__cvta_shared_to_generic(address));
}

// ---- mbarrier ------------------------------------------------------------------------------------------------------

__device__ __forceinline__ void init_barrier(std::uint32_t barrier, int arrivals) {
  toolkit::mbarrier_init(barrier_at(barrier), arrivals);
}

// Makes initialised barriers visible to the copy engine; behind the last init_barrier, in the thread that initialises them.
__device__ __forceinline__ void publish_barriers() { toolkit::fence_mbarrier_init(toolkit::sem_release, toolkit::scope_cluster); }

// Blocks until the phase of the given parity has completed. A fresh barrier has "completed" parity 1. The toolkit's wait, in a
// loop of C++, makes tiles of 256 x 192 spill registers.
__device__ __forceinline__ void wait_barrier(std::uint32_t barrier, std::uint32_t parity) {
#if OZFP4_IS_SM90_CODE
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra finished;\n"
      "bra again;\n"
      "finished:\n"
      "}" ::"r"(barrier),
      "r"(parity)
      : "memory");
#else
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.test_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n"
      "}" ::"r"(barrier),
      "r"(parity)
      : "memory");
#endif
}

__device__ __forceinline__ void arrive(std::uint32_t barrier) { toolkit::mbarrier_arrive(barrier_at(barrier)); }

// One arrival that also announces `bytes` of copies which complete on this barrier.
__device__ __forceinline__ void arrive_expecting(std::uint32_t barrier, std::uint32_t bytes) {
  toolkit::mbarrier_arrive_expect_tx(toolkit::sem_release, toolkit::scope_cta, toolkit::space_shared, barrier_at(barrier), bytes);
}

// ---- Bulk tensor copies --------------------------------------------------------------------------------------------

__device__ __forceinline__ void prefetch_map(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// coordinates: byte along K, row, matrix of the batch, plane.
__device__ __forceinline__ void load_tile(const CUtensorMap* map, std::uint32_t target, std::uint32_t barrier,
                                          const int (&coordinates)[4]) {
#if __CUDA_ARCH__ >= 1200
  // Told that the target is this block's own memory, else ptxas calls a function of the driver instead, and ignores
  // setmaxnreg because of the call.
  constexpr toolkit::space_shared_t space;
#else
  constexpr toolkit::space_cluster_t space;
#endif
  toolkit::cp_async_bulk_tensor(space, toolkit::space_global, barrier_at(target), map, coordinates, barrier_at(barrier));
}

// Writes a box; rows outside the matrix are dropped, and columns from the next multiple of 16 on. Part of the calling thread's
// current bulk group. coordinates: column, row, matrix.
__device__ __forceinline__ void store_box(const CUtensorMap* map, std::uint32_t source, const int (&coordinates)[3]) {
  toolkit::cp_async_bulk_tensor(toolkit::space_global, toolkit::space_shared, map, coordinates, barrier_at(source));
}
__device__ __forceinline__ void close_store_group() { toolkit::cp_async_bulk_commit_group(); }
// Until the calling thread's stores have read shared memory / have been written.
__device__ __forceinline__ void wait_stores_read() { toolkit::cp_async_bulk_wait_group_read(toolkit::n32_t<0>()); }
__device__ __forceinline__ void wait_stores_done() { toolkit::cp_async_bulk_wait_group(toolkit::n32_t<0>()); }

// Orders ordinary writes to shared memory before copies that read them; in every writing thread, before a barrier.
__device__ __forceinline__ void publish_to_copy_engine() { toolkit::fence_proxy_async(toolkit::space_shared); }

// ---- Named barriers: whole warps, `threads` in all ------------------------------------------------------------------

__device__ __forceinline__ void named_sync(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

__device__ __forceinline__ void named_arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// ---- Registers, moved between the warpgroups of a block --------------------------------------------------------------

template <int kRegisters>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ __forceinline__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

}  // namespace ozfp4::cuda::ptx
