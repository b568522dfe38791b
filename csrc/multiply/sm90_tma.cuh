// Bulk tensor copies (TMA): tiles of the operands into shared memory, finished boxes of bytes out of it.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "multiply/cuda_gemm.hpp"

namespace ozfp4::cuda::sm90 {

__device__ __forceinline__ void prefetch_map(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

__device__ __forceinline__ std::uint64_t cache_policy(CacheHint hint) {
  std::uint64_t policy;
  if (hint == CacheHint::keep) {
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  } else if (hint == CacheHint::stream) {
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  } else {
    asm volatile("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(policy));
  }
  return policy;
}

// Where a tile of an operand lies: byte along K, row, matrix of the batch, plane.
struct Coordinates {
  int k, row, batch, plane;
};

__device__ __forceinline__ void load_tile(const CUtensorMap* map, std::uint32_t target, std::uint32_t barrier,
                                          Coordinates at, std::uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
      " [%0], [%1, {%3, %4, %5, %6}], [%2], %7;"
      ::"r"(target), "l"(map), "r"(barrier), "r"(at.k), "r"(at.row), "r"(at.batch), "r"(at.plane), "l"(policy)
      : "memory");
}

// The same into the blocks of the cluster whose bits are set in `blocks`; completes on the barrier of the same offset
// in each of them.
__device__ __forceinline__ void load_tile_multicast(const CUtensorMap* map, std::uint32_t target, std::uint32_t barrier,
                                                    Coordinates at, std::uint64_t policy, std::uint16_t blocks) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint"
      " [%0], [%1, {%4, %5, %6, %7}], [%2], %3, %8;"
      ::"r"(target), "l"(map), "r"(barrier), "h"(blocks), "r"(at.k), "r"(at.row), "r"(at.batch), "r"(at.plane),
        "l"(policy)
      : "memory");
}

// Writes a box; what lies outside the matrix is dropped. Part of the calling thread's current bulk group.
__device__ __forceinline__ void store_box(const CUtensorMap* map, std::uint32_t source, int column, int row,
                                          int matrix) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];"
               ::"l"(map), "r"(source), "r"(column), "r"(row), "r"(matrix)
               : "memory");
}
__device__ __forceinline__ void close_store_group() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
// Until the calling thread's stores have read shared memory / have been written.
__device__ __forceinline__ void wait_stores_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
__device__ __forceinline__ void wait_stores_done() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

// Orders ordinary writes to shared memory before copies that read them; in every writing thread, before a barrier.
__device__ __forceinline__ void publish_to_copy_engine() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

}  // namespace ozfp4::cuda::sm90
