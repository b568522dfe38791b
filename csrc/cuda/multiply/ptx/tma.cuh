// Bulk tensor copies (TMA): tiles of the operands into shared memory, finished boxes of bytes out of it.
//
// Loads carry no cache hint on purpose: with a policy from createpolicy, L2 no longer merges the requests of neighbouring
// multiprocessors for the same lines, and its traffic doubles (measured on an H200: 456 instead of 238 million sectors).
#pragma once

#include <cuda.h>

#include <cstdint>
#include <cuda/ptx>

namespace ozfp4::cuda::ptx {

__device__ __forceinline__ void prefetch_map(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// Where a tile of an operand lies: byte along K, row, matrix of the batch, plane.
struct Coordinates {
  int k, row, batch, plane;
};

__device__ __forceinline__ void load_tile(const CUtensorMap* map, std::uint32_t target, std::uint32_t barrier, Coordinates at) {
#if __CUDA_ARCH__ >= 1200
  // Told that the target is this block's own memory, else ptxas calls a function of the driver instead, and ignores
  // setmaxnreg because of the call.
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cta.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(target),
      "l"(map), "r"(barrier), "r"(at.k), "r"(at.row), "r"(at.batch), "r"(at.plane)
      : "memory");
#else
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(
          target),
      "l"(map), "r"(barrier), "r"(at.k), "r"(at.row), "r"(at.batch), "r"(at.plane)
      : "memory");
#endif
}

// Writes a box; rows outside the matrix are dropped, and columns from the next multiple of 16 on. Part of the calling thread's
// current bulk group.
__device__ __forceinline__ void store_box(const CUtensorMap* map, std::uint32_t source, int column, int row, int matrix) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(map), "r"(source),
               "r"(column), "r"(row), "r"(matrix)
               : "memory");
}
__device__ __forceinline__ void close_store_group() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
// Until the calling thread's stores have read shared memory / have been written.
__device__ __forceinline__ void wait_stores_read() { ::cuda::ptx::cp_async_bulk_wait_group_read(::cuda::ptx::n32_t<0>()); }
__device__ __forceinline__ void wait_stores_done() { ::cuda::ptx::cp_async_bulk_wait_group(::cuda::ptx::n32_t<0>()); }

// Orders ordinary writes to shared memory before copies that read them; in every writing thread, before a barrier.
__device__ __forceinline__ void publish_to_copy_engine() { ::cuda::ptx::fence_proxy_async(::cuda::ptx::space_shared); }

}  // namespace ozfp4::cuda::ptx
