// The producer: one thread that fills the ring of stages, tile after tile.
#pragma once

#include <cstdint>

#include "multiply/sm90_barrier.cuh"
#include "multiply/sm90_config.cuh"
#include "multiply/sm90_schedule.cuh"
#include "multiply/sm90_tma.cuh"
#include "multiply/sm90_wave_gate.cuh"

namespace ozfp4::cuda::sm90 {

template <class C>
__device__ __forceinline__ void produce(const GemmParams& p, const SharedLayout<C>& shared, const TileLoop& tiles) {
  RingPosition<C::kStages> ring;
  WaveGate gate(p.wave_slot, tiles.stride);
  for (std::uint32_t index = tiles.first; index < tiles.count; index += tiles.stride) {
    if (index != tiles.first) gate.wait();
    const Tile tile = tile_at(p.order, index);
    const int split = divide(tile.matrix, p.batches);
    const Operands matrix = find_operands(p, tile, split);
    const int last = p.unit_begin[tile.unit + 1];
    for (int s = p.unit_begin[tile.unit]; s < last; ++s) {
      const GemmStep step = read_step(p, s);
      const BlockRange range = block_range(step.k_begin, step.k_end, split, p.blocks_per_split);
      const int report_at = s + 1 == last ? max(0, range.count - WaveGate::kLead) : -1;
      for (int i = 0; i < range.count; ++i) {
        if (i == report_at) gate.report();
        const int k = (range.first + i) * kBlockK;
        const std::uint32_t full = shared.full(ring.stage);
        wait_barrier(shared.empty(ring.stage), ring.parity ^ 1);
        arrive_expecting(full, C::kStageBytesA + C::kStageBytesB);
        load_tile(&p.a_map, shared.a(ring.stage), full, {k, static_cast<int>(tile.m) * C::kM, matrix.a, step.a_plane});
        load_tile(&p.b_map, shared.b(ring.stage), full, {k, static_cast<int>(tile.n) * C::kN, matrix.b, step.b_plane});
        ring.advance();
      }
      if (s + 1 == last && range.count == 0) gate.report();
    }
  }
  gate.leave();
}

}  // namespace ozfp4::cuda::sm90
