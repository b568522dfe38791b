// The Hopper multiply kernel: persistent, warp-specialised. One producer thread keeps a ring of stages filled by TMA;
// each consumer warpgroup multiplies 64 (128) rows of the tile by the whole tile of B from the same stages.
//
// The consumers share stages but nothing else, and they are kept out of step: warpgroup 1 starts a tile `lag` K blocks
// after warpgroup 0. While one folds and stores, the other keeps the tensor cores busy with the blocks it is behind, so
// epilogues, and the folds between the products of a unit, are hidden without a second tile's worth of registers or
// operands. A stage is free when both have multiplied it.
#pragma once

#include <cstdint>

#include "multiply/sm90_barrier.cuh"
#include "multiply/sm90_config.cuh"
#include "multiply/sm90_epilogue.cuh"
#include "multiply/sm90_tma.cuh"
#include "multiply/sm90_wgmma.cuh"

namespace ozfp4::cuda::sm90 {

// Position in the ring of stages. `parity` is that of the phase which fills the stage.
template <int kStages>
struct RingPosition {
  std::uint32_t stage = 0, parity = 0;
  __device__ __forceinline__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

template <class C>
struct SharedLayout {
  std::uint32_t base;
  __device__ __forceinline__ std::uint32_t a(std::uint32_t stage) const {
    return base + stage * (C::kStageBytesA + C::kStageBytesB);
  }
  __device__ __forceinline__ std::uint32_t b(std::uint32_t stage) const { return a(stage) + C::kStageBytesA; }
  __device__ __forceinline__ std::uint32_t staging(int group) const {
    return base + C::kStagingAt + group * C::kStagingBytes;
  }
  __device__ __forceinline__ std::uint32_t full(std::uint32_t stage) const {
    return base + C::kBarriersAt + 8 * stage;
  }
  __device__ __forceinline__ std::uint32_t empty(std::uint32_t stage) const { return full(stage) + 8 * C::kStages; }
};

__device__ __forceinline__ GemmStep read_step(const GemmParams& p, int index) {
  return p.device_steps != nullptr ? p.device_steps[index] : p.steps[index];
}

// The tiles of this cluster are first, first + stride, ... below count.
struct TileLoop {
  std::uint32_t first, stride, count;
};

// ---- Producer: one thread ------------------------------------------------------------------------------------------

template <class C>
__device__ __forceinline__ void produce(const GemmParams& p, const SharedLayout<C>& shared, const TileLoop& tiles,
                                        std::uint32_t rank) {
  const std::uint64_t a_policy = cache_policy(p.a_hint), b_policy = cache_policy(p.b_hint);
  RingPosition<C::kStages> ring;
  for (std::uint32_t index = tiles.first; index < tiles.count; index += tiles.stride) {
    const Tile tile = tile_at(p.order, index);
    const int a_row = (tile.m * C::kCluster + rank) * C::kM, b_row = tile.n * C::kN;
    const int split = divide(tile.matrix, p.batches);
    int rest = tile.matrix - split * p.batches.constants.modulus;
    int a_matrix = 0, b_matrix = 0;
    for (int d = p.batch.rank - 1; d >= 0; --d) {
      const int coordinate = rest % p.batch.extent[d];
      rest /= p.batch.extent[d];
      a_matrix += coordinate * p.batch.a_stride[d];
      b_matrix += coordinate * p.batch.b_stride[d];
    }

    for (int s = p.unit_begin[tile.unit]; s < p.unit_begin[tile.unit + 1]; ++s) {
      const GemmStep step = read_step(p, s);
      const BlockRange range = block_range(step.k_begin, step.k_end, split, p.blocks_per_split);
      for (int i = 0; i < range.count; ++i) {
        const int k = (range.first + i) * kBlockK;
        const std::uint32_t full = shared.full(ring.stage), a = shared.a(ring.stage), b = shared.b(ring.stage);
        wait_barrier(shared.empty(ring.stage), ring.parity ^ 1);
        arrive_expecting(full, C::kStageBytesA + C::kStageBytesB);
        load_tile(&p.a_map, a, full, {k, a_row, a_matrix, step.a_plane}, a_policy);
        if (C::kCluster == 1) {
          load_tile(&p.b_map, b, full, {k, b_row, b_matrix, step.b_plane}, b_policy);
        } else {
          // Each block fetches its part of the rows of B for all blocks of the cluster.
          constexpr int part = C::kN / C::kCluster;
          load_tile_multicast(&p.b_map, b + rank * part * kBlockK, full,
                              {k, b_row + static_cast<int>(rank) * part, b_matrix, step.b_plane}, b_policy,
                              (1 << C::kCluster) - 1);
        }
        ring.advance();
      }
    }
  }
}

// ---- Consumer: one warpgroup ---------------------------------------------------------------------------------------

template <class C>
struct Consumer {
  const GemmParams& p;
  const SharedLayout<C>& shared;
  const int group;           // of the consumers, from 0
  RingPosition<C::kStages> ring;
  std::int32_t acc[C::kSlices][C::kAccumulators];

  __device__ __forceinline__ Consumer(const GemmParams& p, const SharedLayout<C>& shared, int group)
      : p(p), shared(shared), group(group) {
    Epilogue<C>::clear(acc);
  }

  // Each warp reports to the producer of every block that writes into the stage.
  __device__ __forceinline__ void release(std::uint32_t stage) {
    const std::uint32_t lane = threadIdx.x % 32;
    if (lane < C::kCluster) {
      if (C::kCluster == 1) {
        arrive(shared.empty(stage));
      } else {
        arrive_at(shared.empty(stage), lane);
      }
    }
  }

  // acc = (accumulate ? acc : 0) + the products of `count` >= 1 K blocks. After block `signal_after` the next warpgroup
  // is let go.
  __device__ __forceinline__ void multiply(int count, bool accumulate, int signal_after) {
    int keep = accumulate ? 1 : 0;
    std::uint32_t previous = 0;
    pin(acc);
    for (int i = 0; i < count; ++i) {
      wait_barrier(shared.full(ring.stage), ring.parity);
      const std::uint64_t a = tile_descriptor(shared.a(ring.stage) + group * C::kSlices * 64 * kBlockK);
      const std::uint64_t b = tile_descriptor(shared.b(ring.stage));
      begin_multiply();
#pragma unroll
      for (int k = 0; k < kBlockK / 32; ++k) {
#pragma unroll
        for (int s = 0; s < C::kSlices; ++s) Multiply<C::kSigned>::run(acc[s], a + 512 * s + 2 * k, b + 2 * k, keep);
        keep = 1;
      }
      commit_multiply();
      wait_multiply<1>();  // only the group just issued may be unfinished: the stage before is free
      if (i > 0) release(previous);
      previous = ring.stage;
      ring.advance();
      if (i == signal_after) named_arrive(kOrderBarrier + group, 256);
    }
    wait_multiply<0>();
    pin(acc);
    release(previous);
  }

  __device__ __forceinline__ void run(const TileLoop& tiles, std::uint32_t rank) {
    for (std::uint32_t index = tiles.first; index < tiles.count; index += tiles.stride) {
      const Tile tile = tile_at(p.order, index);
      const int row = (tile.m * C::kCluster + rank) * C::kM + group * C::kSlices * 64, column = tile.n * C::kN;
      const int split = divide(tile.matrix, p.batches);
      bool has_value = false;

      const int first = p.unit_begin[tile.unit], last = p.unit_begin[tile.unit + 1];
      for (int s = first; s < last; ++s) {
        const GemmStep step = read_step(p, s);
        const BlockRange range = block_range(step.k_begin, step.k_end, split, p.blocks_per_split);
        if (range.count > 0) {
          // A warpgroup cannot be a tile ahead of the next one if the tile has at least as many blocks as the ring has
          // stages; only then is the order enforced, so that a barrier is never met twice by the same side.
          const bool is_ordered = s == first && range.count >= C::kStages && p.lag > 0;
          if (is_ordered && group > 0) named_sync(kOrderBarrier + group - 1, 256);
          multiply(range.count, has_value, is_ordered && group + 1 < C::kConsumers ? p.lag - 1 : -1);
          has_value = true;
        }
        if (step.action == Action::carry_on) continue;
        if (!has_value) {
          Epilogue<C>::clear(acc);
          has_value = true;
        }
        act(step, row, column, tile.matrix);
      }
    }
    if (threadIdx.x % 128 == 0) wait_stores_done();
  }

  __device__ __forceinline__ void act(const GemmStep& step, int row, int column, std::uint32_t matrix) {
    std::uint32_t negated = 0u - step.modulus;
    asm("mov.b32 %0, %0;" : "+r"(negated));  // else the compiler sees the minus and negates each quotient instead
    const fold_constants f = {step.modulus, step.magic, step.shift,
                              static_cast<std::uint32_t>(step.offset_quotient) * step.modulus, negated};
    const int out_matrix = step.out_plane * p.out_matrices + matrix;
    const bool is_inside = row < p.m;  // the whole warpgroup may lie below the last row
    const bool is_residue = step.action == Action::store_residue, is_digit = step.action == Action::store_digit;

    // One copy of each pass in the code: a store of a multiplied residue is a fold and a store.
    if (step.action == Action::fold || (is_residue && step.multiplier != 1)) Epilogue<C>::fold(acc, f, step.multiplier);
    if ((is_residue || is_digit) && is_inside) {
      Epilogue<C>::store_bytes(acc, f, p, shared.staging(group), group, row, column, out_matrix);
    }
    if (is_digit) Epilogue<C>::carry(acc, f, step.offset_quotient);
    if (step.action == Action::multiply) Epilogue<C>::scale(acc, step.multiplier);
    if (step.action == Action::store_int32 && is_inside) {
      Epilogue<C>::store_words(acc, step.multiplier, p, row, column, out_matrix);
    }
  }

  static constexpr int kOrderBarrier = 1 + C::kConsumers;  // named barriers 1.. are the epilogues'
};

// ---- Kernel --------------------------------------------------------------------------------------------------------

template <class C>
__global__ void __launch_bounds__(C::kThreads, 1) gemm_kernel(const __grid_constant__ GemmParams p) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ std::uint8_t dynamic_shared[];
  const SharedLayout<C> shared{(shared_address(dynamic_shared) + 1023) & ~1023u};
  const std::uint32_t rank = C::kCluster == 1 ? 0 : cluster_rank();
  const int warp = __shfl_sync(0xFFFFFFFFu, threadIdx.x / 32, 0);  // uniform in the eyes of the compiler

  if (threadIdx.x == 0) {
    prefetch_map(&p.a_map);
    prefetch_map(&p.b_map);
    prefetch_map(&p.out_map);
    for (int stage = 0; stage < C::kStages; ++stage) {
      init_barrier(shared.full(stage), 1);
      init_barrier(shared.empty(stage), 4 * C::kConsumers * C::kCluster);
    }
    publish_barriers();
  }
  if (C::kCluster == 1) {
    __syncthreads();
  } else {
    cluster_sync();
  }
  wait_for_previous_kernel();

  int units = p.unit_count;
  if (p.units_used != nullptr) units = max(0, min(units, *p.units_used));
  const TileLoop tiles = {blockIdx.x / C::kCluster, gridDim.x / C::kCluster,
                          units * p.order.per_unit.constants.modulus};

  if (warp < 4) {
    if (C::kMovesRegisters) give_registers<C::kProducerRegisters>();
    if (threadIdx.x == 0) produce<C>(p, shared, tiles, rank);
  } else {
    if (C::kMovesRegisters) take_registers<C::kConsumerRegisters>();
    Consumer<C>(p, shared, warp / 4 - 1).run(tiles, rank);
  }
  if (C::kCluster > 1) {
    __syncwarp();
    cluster_sync();  // a block must not leave while the other may still signal its barriers
  }
#else
  (void)p;
  __trap();
#endif
}

}  // namespace ozfp4::cuda::sm90
