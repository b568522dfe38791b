// The Hopper multiply kernel: persistent, warp-specialised. One producer thread keeps a ring of stages filled by TMA. Each
// consumer warpgroup multiplies 64 rows of the tile by the whole tile of B from the same stages, or takes whole tiles alternately
// with the other one. A stage is free when all its readers have multiplied it. While a warpgroup folds and stores, the ring fills
// up for the next K loop.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cuda/dependent_launch.cuh"
#include "cuda/multiply/hopper/epilogue.cuh"
#include "cuda/multiply/hopper/producer.cuh"
#include "cuda/multiply/hopper/turns.cuh"
#include "cuda/multiply/ptx/async.cuh"
#include "cuda/multiply/ptx/wgmma.cuh"

namespace ozfp4::cuda::hopper {

// ---- Consumer: one warpgroup ---------------------------------------------------------------------------------------

template <class C>
struct Consumer {
  const MultiplyParams& p;
  const SharedLayout<C>& shared;
  const int group;  // of the consumers, from 0
  RingPosition<C::kStages> ring;
  Accumulators<C> acc;

  __device__ __forceinline__ Consumer(const MultiplyParams& p, const SharedLayout<C>& shared, int group)
      : p(p), shared(shared), group(group) {
    Epilogue<C>::clear(acc);
  }

  // Each warp reports to the producer.
  __device__ __forceinline__ void release(std::uint32_t stage) {
    if (threadIdx.x % 32 == 0) arrive(shared.empty(stage));
  }

  // Waits for the next stage and multiplies its K block: acc = (accumulate ? acc : 0) + A * B, asynchronously.
  __device__ __forceinline__ void issue(bool accumulate) {
    wait_barrier(shared.full(ring.stage), ring.parity);
    const std::uint64_t a = tile_descriptor(shared.a(ring.stage) + (C::kTurns ? 0 : group * 64 * C::kSlabs * kBlockK));
    const std::uint64_t b = tile_descriptor(shared.b(ring.stage));
    begin_multiply();
#pragma unroll
    for (int k = 0; k < kBlockK / 32; ++k) {
#pragma unroll
      for (int slab = 0; slab < C::kSlabs; ++slab) {
        Multiply<C::kSigned>::run(acc[slab], a + (slab * 64 * kBlockK / 16 + 2 * k), b + 2 * k, k > 0 || accumulate ? 1 : 0);
      }
    }
    commit_multiply();
  }

  __device__ __forceinline__ void run(const TileLoop& tiles) {
    if (tiles.first >= tiles.count) return;
    std::conditional_t<C::kTurns, EverySecondTile, AllSteps<C::kAlternatingBlocks>> next(p, tiles, group);
    if (next.hands_over_first()) next.hand_over();
    GemmStep next_step = read_step(p, next.step());
    bool has_value = false;
    while (next.exists()) {
      const Tile tile = next.tile();
      const GemmStep step = next_step;
      const int count = block_range(step.k_begin, step.k_end, divide(tile.matrix, p.batches), p.blocks_per_split).count;
      next.begin(ring);
      if (count > 0) {
        pin(acc);
        issue(has_value);
        std::uint32_t previous = ring.stage;
        ring.advance();
        // The next tile is looked up while the tensor cores are busy. That takes a chain of reads from constant memory, over a
        // thousand clocks where the caches do not hold them. With alternating tiles, while they are busy for the other warpgroup.
        if (!C::kTurns) {
          next.advance(p, tiles);
          next_step = read_step(p, next.step());
        }
        for (int i = 1; i < count; ++i) {
          issue(true);
          wait_multiply<1>();  // only the group just issued may be unfinished: the stage before is free
          release(previous);
          previous = ring.stage;
          ring.advance();
        }
        if (next.hands_over()) next.hand_over();
        wait_multiply<0>();
        pin(acc);
        release(previous);
        has_value = true;
      } else {
        if (!C::kTurns) next.advance(p, tiles);
        if (next.hands_over()) next.hand_over();
      }
      if (C::kTurns || count == 0) {
        if (C::kTurns) next.advance(p, tiles);
        next_step = read_step(p, next.step());
      }
      if (step.action == Action::carry_on) continue;
      if (!has_value) Epilogue<C>::clear(acc);
      const int row = tile.m * C::kM + (C::kTurns ? 0 : group * 64 * C::kSlabs), column = tile.n * C::kN;
      const int matrix = step.out_plane * p.out_matrices + tile.matrix;
      act(Epilogue<C>{acc, p, {row, column, matrix}, group, shared.staging(group)}, step);
      has_value = step.action != Action::store_residue && step.action != Action::store_int32;
    }
    if (threadIdx.x % 128 == 0) wait_stores_done();
  }
};

// The tiles of this block. Called where they are walked: kept from before, the count takes a register too many.
__device__ __forceinline__ TileLoop tile_loop(const MultiplyParams& p) {
  return {blockIdx.x, gridDim.x, count_units(p) * p.order.per_unit.constants.modulus};
}

// ---- Kernel --------------------------------------------------------------------------------------------------------

template <class C>
__global__ void __launch_bounds__(C::kThreads, C::kBlocks) gemm_kernel(const __grid_constant__ MultiplyParams p) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ std::uint8_t dynamic_shared[];
  const SharedLayout<C> shared{(shared_address(dynamic_shared) + 1023) & ~1023u};
  const int warp = __shfl_sync(0xFFFFFFFFu, threadIdx.x / 32, 0);  // uniform in the eyes of the compiler

  if (threadIdx.x == 0) {
    prefetch_map(&p.a_map);
    prefetch_map(&p.b_map);
    prefetch_map(&p.out_map);
    for (int stage = 0; stage < C::kStages; ++stage) {
      init_barrier(shared.full(stage), 1);
      init_barrier(shared.empty(stage), 4 * C::kReaders);
    }
    publish_barriers();
  }
  __syncthreads();
  wait_for_previous_kernel();

  if (warp < 4) {
    if (C::kMovesRegisters) give_registers<C::kProducerRegisters>();
    if (threadIdx.x == 0) {
      const TileLoop tiles = tile_loop(p);
      Producer<C>(p, shared, tiles).run(tiles);
      let_next_kernel_start();
    }
  } else {
    if (C::kMovesRegisters) take_registers<C::kConsumerRegisters>();
    Consumer<C>(p, shared, warp / 4 - 1).run(tile_loop(p));
  }
#else
  (void)p;
  __trap();
#endif
}

}  // namespace ozfp4::cuda::hopper
