// The producer: one thread that fills the ring of stages, tile after tile.
#pragma once

#include <cstdint>

#include "cuda/multiply/hopper/config.cuh"
#include "cuda/multiply/hopper/wave_gate.cuh"
#include "cuda/multiply/ptx/barrier.cuh"
#include "cuda/multiply/ptx/tma.cuh"
#include "cuda/multiply/walk/shared_layout.cuh"
#include "cuda/multiply/walk/steps.cuh"

namespace ozfp4::cuda::hopper {

template <class C>
class Producer {
 public:
  __device__ __forceinline__ Producer(const MultiplyParams& p, const SharedLayout<C>& shared, const TileLoop& tiles)
      : p_(p), shared_(shared), gate_(p.wave_slot, tiles.stride) {}

  __device__ __forceinline__ void run(const TileLoop& tiles) {
    constexpr std::uint32_t together = C::kTurns ? 2 : 1;  // tiles whose steps alternate, see hopper/turns.cuh
    for (std::uint32_t index = tiles.first; index < tiles.count; index += together * tiles.stride) {
      if (index != tiles.first) gate_.wait();
      Source source[together];
#pragma unroll
      for (std::uint32_t t = 0; t < together; ++t) source[t] = source_of(index + t * tiles.stride, tiles.count);
      bool is_done = false;
      while (!is_done) {
        is_done = true;
#pragma unroll
        for (std::uint32_t t = 0; t < together; ++t) {
          if (source[t].step < source[t].last) load_step(source[t]);
          is_done = is_done && source[t].step == source[t].last;
        }
      }
    }
    gate_.leave();
  }

 private:
  // Of a tile; its next step is `step`.
  struct Source {
    int row_a, row_b;
    Operands matrix;
    int split, step, last;
  };

  __device__ __forceinline__ Source source_of(std::uint32_t index, std::uint32_t count) const {
    if (C::kTurns && index >= count) return {0, 0, {0, 0}, 0, 0, 0};
    const Tile tile = tile_at(p_.order, index);
    const int split = divide(tile.matrix, p_.batches);
    return {static_cast<int>(tile.m) * C::kM, static_cast<int>(tile.n) * C::kN, find_operands(p_, tile, split), split,
            p_.unit_begin[tile.unit],         p_.unit_begin[tile.unit + 1]};
  }

  __device__ __forceinline__ void load_step(Source& from) {
    const GemmStep step = read_step(p_, from.step++);
    const bool is_last = from.step == from.last;
    const BlockRange range = block_range(step.k_begin, step.k_end, from.split, p_.blocks_per_split);
    const int report_at = is_last ? max(0, range.count - WaveGate::kLead) : -1;
    for (int i = 0; i < range.count; ++i) {
      if (i == report_at) gate_.report();
      const int k = (range.first + i) * kBlockK;
      const std::uint32_t full = shared_.full(ring_.stage);
      wait_barrier(shared_.empty(ring_.stage), ring_.parity ^ 1);
      arrive_expecting(full, C::kStageBytes);
      load_tile(&p_.a_map, shared_.a(ring_.stage), full, {k, from.row_a, from.matrix.a, step.a_plane});
      load_tile(&p_.b_map, shared_.b(ring_.stage), full, {k, from.row_b, from.matrix.b, step.b_plane});
      ring_.advance();
    }
    if (is_last && range.count == 0) gate_.report();
  }

  const MultiplyParams& p_;
  const SharedLayout<C>& shared_;
  RingPosition<C::kStages> ring_;
  WaveGate gate_;
};

}  // namespace ozfp4::cuda::hopper
