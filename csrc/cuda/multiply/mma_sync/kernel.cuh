// The mma.sync multiply kernel: persistent. A ring of stages is filled by loader warps (TMA), or by the multiplier warps
// themselves a few stages ahead (cp.async). Each multiplier warp multiplies its part of the tile with mma.sync; a stage is
// free when all of them have read it. Loads run on into the next K loop while a warp folds and stores.
#pragma once

#include <cstdint>

#include "cuda/dependent_launch.cuh"
#include "cuda/multiply/mma_sync/atom.cuh"
#include "cuda/multiply/mma_sync/epilogue.cuh"
#include "cuda/multiply/mma_sync/loader.cuh"
#include "cuda/multiply/ptx/warp.cuh"
#include "cuda/multiply/walk/steps.cuh"

namespace ozfp4::cuda::mma_sync {

// The lanes of a warp that report a stage as read: one for all. compute-sanitizer's racecheck does not count what the others
// did before; a build for it lets each report for itself.
#ifdef OZFP4_RACECHECK
inline constexpr std::uint32_t kReleasingLanes = 32;
#else
inline constexpr std::uint32_t kReleasingLanes = 1;
#endif

// ---- Multiplier: one warp ----------------------------------------------------------------------------------------------

template <class C>
struct Multiplier {
  const MultiplyParams& p;
  const SharedLayout<C>& shared;
  const int warp_row, warp_column;  // of the warp's tile, entries
  std::uint32_t lane_a, lane_b;     // what this lane points ldmatrix to, from the start of a stage
  const std::uint32_t zero;         // computed, so that the compiler keeps what is combined with it
  RingPosition<C::kStages> ring;
  std::int32_t acc[C::kRows][C::kColumns][4];

  __device__ __forceinline__ Multiplier(const MultiplyParams& p, const SharedLayout<C>& shared, int warp)
      : p(p),
        shared(shared),
        warp_row(warp / C::kWarpsN * C::kWarpM),
        warp_column(warp % C::kWarpsN * C::kWarpN),
        zero(static_cast<std::uint32_t>(p.blocks_per_split) >> 31) {
    const std::uint32_t lane = threadIdx.x % 32;
    // A: rows 0-7, rows 8-15, then the same rows 16 bytes on. B: columns 0-7, 16 bytes on, then columns 8-15.
    lane_a = swizzled_chunk<C::kRowBytes>(warp_row + lane % 16, lane / 16);
    lane_b = C::kStageBytesA + swizzled_chunk<C::kRowBytes>(warp_column + lane % 8 + lane / 16 * 8, lane / 8 % 2);
    Epilogue<C>::clear(acc);
  }

  // acc += A * B of the next stage.
  __device__ __forceinline__ void multiply_stage() {
    wait_barrier(shared.full(ring.stage), ring.parity);
    const std::uint32_t stage = shared.a(ring.stage);
    std::uint32_t loaded = 0;  // a word of every ldmatrix, as ptxas changes their order
#pragma unroll
    for (int k = 0; k < C::kRowBytes; k += 32) {
      // The swizzle exchanges chunks of 16 bytes by exclusive or, so a step along K is one, too.
      const std::uint32_t from_a = (stage + lane_a) ^ k, from_b = (stage + lane_b) ^ k;
      std::uint32_t b[C::kColumns][2];
#pragma unroll
      for (int j = 0; j < C::kColumns; j += 2) {
        std::uint32_t words[4];
        load_matrices(words, from_b + j * 8 * C::kRowBytes);
        loaded |= words[0];
        b[j][0] = words[0];
        b[j][1] = words[1];
        b[j + 1][0] = words[2];
        b[j + 1][1] = words[3];
      }
#pragma unroll
      for (int i = 0; i < C::kRows; ++i) {
        std::uint32_t a[4];
        load_matrices(a, from_a + i * 16 * C::kRowBytes);
        loaded |= a[0];
#pragma unroll
        for (int j = 0; j < C::kColumns; ++j) C::Atom::multiply(acc[i][j], a, b[j]);
      }
    }
    __syncwarp();
    // The hardware does not hold an arrival back for an ldmatrix in flight, and TMA may then write over what it reads. An
    // address that depends on the loaded words waits for them.
    if (threadIdx.x % 32 < kReleasingLanes) arrive(shared.empty(ring.stage) + (loaded & zero));
    ring.advance();
  }

  // Precondition: there is at least one tile. `load_ahead` is called before every stage that is multiplied.
  template <class LoadAhead>
  __device__ __forceinline__ void run(const TileLoop& tiles, const LoadAhead& load_ahead) {
    const int blocks_per_split = p.blocks_per_split * (128 / C::kRowBytes);
    Cursor next(p, tiles);
    bool has_next = true;
    while (has_next) {
      const Tile tile = next.tile;
      const int index = next.step;
      const GemmStep step = read_step(p, index);
      const int split = divide(tile.matrix, p.batches);
      int count = block_range<C::kBlockEntries>(step.k_begin, step.k_end, split, blocks_per_split).count;
      for (; count > 0; --count) {
        load_ahead();
        multiply_stage();
      }
      has_next = next.advance(p, tiles);
      if (step.action == Action::carry_on) continue;
      const GemmStep last = read_step(p, index);  // again: not kept in registers along K
      const int row = tile.m * C::kM + warp_row, column = tile.n * C::kN + warp_column;
      const int matrix = last.out_plane * p.out_matrices + tile.matrix;
      act(Epilogue<C>{acc, p, {row, column, matrix}}, last);
    }
  }
};

// ---- Kernel --------------------------------------------------------------------------------------------------------------

template <class C>
__global__ void __launch_bounds__(C::kThreads, C::kBlocksPerMultiprocessor)
    gemm_kernel(const __grid_constant__ MultiplyParams p) {
  extern __shared__ __align__(1024) std::uint8_t dynamic_shared[];
  const SharedLayout<C> shared{shared_address(dynamic_shared)};
  const int warp = __shfl_sync(0xFFFFFFFFu, threadIdx.x / 32, 0);  // uniform in the eyes of the compiler

  if (threadIdx.x == 0) {
    C::Loader::prefetch(p);
    for (int stage = 0; stage < C::kStages; ++stage) {
      init_barrier(shared.full(stage), C::Loader::template kArrivals<C>);
      init_barrier(shared.empty(stage), kReleasingLanes * C::kMultipliers);
    }
    C::Loader::publish_barriers();
  }
  __syncthreads();
  wait_for_previous_kernel();

  const TileLoop tiles = {blockIdx.x, gridDim.x, count_units(p) * p.order.per_unit.constants.modulus};
  if (tiles.first >= tiles.count) return;

  if constexpr (C::Loader::kWarps == 0) {
    Filler<C> filler(p, shared, tiles);
    const auto load_ahead = [&] {
      if (filler.has_next()) filler.load();
    };
    for (int i = 0; i < C::Loader::template kAhead<C>; ++i) load_ahead();
    Multiplier<C>(p, shared, warp).run(tiles, load_ahead);
    let_next_kernel_start();
  } else if (warp < C::kMultipliers) {
    take_registers<C::kMultiplierRegisters>();
    Multiplier<C>(p, shared, warp).run(tiles, [] {});
  } else {
    give_registers<C::kLoaderRegisters>();
    if (threadIdx.x == 32 * C::kMultipliers) {
      Filler<C> filler(p, shared, tiles);
      while (filler.has_next()) filler.load();
      let_next_kernel_start();
    }
  }
}

}  // namespace ozfp4::cuda::mma_sync
