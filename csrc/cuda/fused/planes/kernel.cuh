// One launch that multiplies all moduli of a tile and reconstructs it: residues never leave the registers. Persistent and
// warp-specialised as the kernel of multiply/hopper, whose parts it is made of.
#pragma once

#include <cstdint>

#include "cuda/dependent_launch.cuh"
#include "cuda/fused/planes/results.cuh"
#include "cuda/multiply/ptx/tma.cuh"
#include "cuda/multiply/ptx/wgmma.cuh"
#include "cuda/multiply/walk/shared_layout.cuh"
#include "cuda/multiply/walk/steps.cuh"
#include "cuda/reconstruct/certify/row.cuh"
#include "cuda/reconstruct/scales.cuh"

namespace ozfp4::cuda::fused_planes {

using Layout = SharedLayout<Config>;
using Ring = RingPosition<Config::kStages>;

// One thread: K block after K block of modulus after modulus of tile after tile.
template <class S>
__device__ __forceinline__ void load_tiles(const Parameters<S>& p, const Layout& shared, int moduli) {
  Ring ring;
  for (std::uint32_t index = blockIdx.x; index < p.tiles; index += gridDim.x) {
    const Tile tile = tile_at(p.order, index);
    const OperandMatrices matrix = find_operands(p, tile, 0);
    const int row_a = static_cast<int>(tile.m) * Config::kM, row_b = static_cast<int>(tile.n) * Config::kN;
    for (int i = 0; i < moduli; ++i) {
      const GemmStep& step = p.steps[i];
      for (int k = 0; k < p.k_blocks; ++k) {
        const std::uint32_t full = shared.full(ring.stage);
        wait_barrier(shared.empty(ring.stage), ring.parity ^ 1);
        arrive_expecting(full, Config::kStageBytes);
        load_tile(&p.a_map, shared.a(ring.stage), full, {k * kBlockK, row_a, matrix.a, step.a_plane});
        load_tile(&p.b_map, shared.b(ring.stage), full, {k * kBlockK, row_b, matrix.b, step.b_plane});
        ring.advance();
      }
    }
  }
}

// One warpgroup: 64 rows of every tile.
template <class T, class S>
class Consumer {
 public:
  __device__ __forceinline__ Consumer(const Parameters<S>& p, const Layout& layout, Shared<S>& shared, int group, int moduli)
      : p_(p), layout_(layout), shared_(shared), group_(group), moduli_(moduli), is_certain_(asks_certainty(p)) {
#pragma unroll
    for (int i = 0; i < Config::kEntries; ++i) acc_[0][i] = 0;
#pragma unroll
    for (int i = 0; i < Config::kEntries; ++i) {
#pragma unroll
      for (int w = 0; w < kMostModuli / 4; ++w) residues_[i][w] = 0;
    }
  }

  __device__ __forceinline__ void run() {
    if (group_ == 1) named_arrive(kTurnBarrier, 256);
    for (std::uint32_t index = blockIdx.x; index < p_.tiles; index += gridDim.x) {
      WarpScales& warp_scales = shared_.scales[threadIdx.x / 32 - 4];
      TileScales scales;
      {
        const Place place = place_of(index);
        scales.load(p_.rest.job, place, Lines(p_.rest.job, place));
      }
      multiply_word<0>();
      const TileCare care = scales.template share<T, S::Words>(warp_scales, constant_shift());
      if constexpr (S::Certifies) share_tests(warp_scales, p_, place_of(index), is_certain_, constant_shift());
      multiply_word<1>();
      multiply_word<2>();
      multiply_word<3>();
      std::uint32_t again = index;
      hold(again);  // the place is worked out anew: nothing is kept in registers for it
      const Place place = place_of(again);
      store_results<T, S>(residues_, p_, place, shared_.table, warp_scales, care, is_certain_, acc_,
                          layout_.base + Config::kWeightsAt);
    }
    if (group_ == 0) named_sync(kTurnBarrier, 256);  // what the other one handed over behind its last modulus
  }

 private:
  __device__ __forceinline__ static bool asks_certainty([[maybe_unused]] const Parameters<S>& p) {
    if constexpr (S::Certifies) {
      return short_form::load_certainty(p.rest.certification) != 0;
    } else {
      return true;
    }
  }

  __device__ __forceinline__ std::int32_t constant_shift() const {
    return reinterpret_cast<const ColumnConstants<S::Words>*>(shared_.table)->shift;
  }

  __device__ __forceinline__ Place place_of(std::uint32_t index) const {
    const Tile tile = tile_at(p_.order, index);
    return {static_cast<std::int32_t>(tile.matrix),
            static_cast<std::int32_t>(tile.m * Config::kM + 64 * group_ + threadIdx.x / 32 % 4 * 16),
            static_cast<std::int32_t>(tile.n * Config::kN)};
  }

  template <int kWord>
  __device__ __forceinline__ void multiply_word() {
#pragma unroll 1
    for (int byte = 0; byte < 4 && 4 * kWord + byte < moduli_; ++byte) {
      multiply();
      fold_into<kWord>(residues_, acc_, p_.steps[4 * kWord + byte], byte);
    }
  }

  // All of K of the next modulus, when the other warpgroup has issued its own: so one of them folds while the other has the
  // tensor cores, else both would multiply and fold at the same time. Each hands over once between two waits of the other.
  __device__ __forceinline__ void multiply() {
    pin(acc_);
    named_sync(kTurnBarrier + group_, 256);
    issue(false);
    std::uint32_t previous = ring_.stage;
    ring_.advance();
#pragma unroll 1
    for (int k = 1; k < p_.k_blocks; ++k) {
      issue(true);
      wait_multiply<1>();  // only the group just issued may be unfinished: the stage before is free
      release(previous);
      previous = ring_.stage;
      ring_.advance();
    }
    named_arrive(kTurnBarrier + 1 - group_, 256);
    wait_multiply<0>();
    pin(acc_);
    release(previous);
  }

  __device__ __forceinline__ void issue(bool accumulate) {
    wait_barrier(layout_.full(ring_.stage), ring_.parity);
    const std::uint64_t a = tile_descriptor(layout_.a(ring_.stage) + group_ * 64 * kBlockK);
    const std::uint64_t b = tile_descriptor(layout_.b(ring_.stage));
    begin_multiply();
#pragma unroll
    for (int k = 0; k < kBlockK / 32; ++k) Multiply<false>::run(acc_[0], a + 2 * k, b + 2 * k, k > 0 || accumulate ? 1 : 0);
    commit_multiply();
  }

  // Each warp reports to the producer.
  __device__ __forceinline__ void release(std::uint32_t stage) {
    if (threadIdx.x % 32 == 0) arrive(layout_.empty(stage));
  }

  static constexpr int kTurnBarrier = 1;  // and 2

  const Parameters<S>& p_;
  const Layout& layout_;
  Shared<S>& shared_;
  const int group_, moduli_;
  const bool is_certain_;  // all lines: nothing is tested then, nor listed
  Ring ring_;
  std::int32_t acc_[1][Config::kEntries];
  Residues residues_;
};

template <class T, class S>
__global__ void __launch_bounds__(Config::kThreads, 1) fused_kernel(const __grid_constant__ Parameters<S> p) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ std::uint8_t dynamic_shared[];
  __shared__ Shared<S> shared;
  const Layout layout{(ptx::shared_address(dynamic_shared) + 1023) & ~1023u};
  const int warp = __shfl_sync(0xFFFFFFFFu, threadIdx.x / 32, 0);  // uniform in the eyes of the compiler

  if (threadIdx.x == 0) {
    for (int stage = 0; stage < Config::kStages; ++stage) {
      init_barrier(layout.full(stage), 1);
      init_barrier(layout.empty(stage), 4 * Config::kConsumers);
    }
    publish_barriers();
  }
  wait_for_previous_kernel();
  if constexpr (S::Certifies) {
    if (!serves(p.rest.certification, p.rest.job)) return;
  }
  const int moduli = short_form::load_table(shared.table, p.rest);  // all threads wait for each other
  share_weights<S::Words>(layout.base + Config::kWeightsAt, shared.table + sizeof(ColumnConstants<S::Words>) / 4);
  __syncthreads();

  if (warp < 4) {
    give_registers<Config::kProducerRegisters>();
    if (threadIdx.x == 0) {
      load_tiles(p, layout, moduli);
      let_next_kernel_start();
    }
  } else {
    take_registers<Config::kConsumerRegisters>();
    Consumer<T, S>(p, layout, shared, warp / 4 - 1, moduli).run();
  }
#else
  (void)p;
  __trap();
#endif
}

}  // namespace ozfp4::cuda::fused_planes
