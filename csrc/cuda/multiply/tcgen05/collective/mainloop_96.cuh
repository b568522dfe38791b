// The main loop of the sm_103 kernel: CUTLASS's collective for K = 96 instructions. It multiplies tiles of 768 codes, three
// loads of 128 bytes. Here the loads are the blocks of a pass, one after the other whatever plane they come from. Zeros follow
// the last block up to a whole tile. As in collective/mainloop.cuh both operands are flattened [plane][batch] arrays and the
// scales are a single tile.
#pragma once

#include <cutlass/gemm/collective/collective_builder.hpp>

#include "cuda/multiply/tcgen05/collective/mainloop.cuh"
#include "cuda/multiply/tcgen05/collective/walk.cuh"
#include "cuda/multiply/tcgen05/pass.hpp"

namespace ozfp4::cuda::tcgen05 {

template <class Base, int kBlockEntries>
class Fp4Mainloop96 : public WithPass<Base> {
 public:
  using typename WithPass<Base>::Params;
  static constexpr int kTileBlocks = cute::size<2>(typename Base::TileShape{}) / kBlockEntries;

  __device__ __forceinline__ explicit Fp4Mainloop96(const Params& params) : WithPass<Base>(params) {}

  // Loads `count` tiles of the sum of an output tile, from the tile `from` on.
  template <class Pipeline, class State, class Inputs, class Coordinate, class Iterator>
  __device__ __forceinline__ auto load_ab(const Params& params, Pipeline pipeline, State state, const Inputs& inputs,
                                          const Coordinate& tile, const Iterator& from, int count, int = 0) {
    const auto [a_tiles, b_tiles, a, b, a_shared, b_shared, a_mask, b_mask] = inputs;
    const OutputMatrix matrix = output_matrix(params.pass, cute::get<3>(tile));
    const Operands batch = find_operands(params.pass, matrix.tile, matrix.split);
    const int row = cute::get<0>(tile) / cute::size(typename Base::TiledMma::AtomThrID{}), column = cute::get<1>(tile);
    const auto first = static_cast<std::int32_t>(*from);
    RangeWalk<kBlockEntries> walk(params.pass, matrix, first * kTileBlocks, count * kTileBlocks);
    auto token = pipeline.producer_try_acquire(state);
    for (LoadRange range; walk.next(&range);) {
      // (box, block of a tile, tile)
      const auto a_rows = a(cute::_, cute::_, cute::_, row, cute::_, range.a_plane * params.pass.a_plane_step + batch.a);
      const auto b_rows = b(cute::_, cute::_, cute::_, column, cute::_, range.b_plane * params.pass.b_plane_step + batch.b);
#pragma unroll 1
      for (int block = range.first; block < range.first + range.count; ++block) {
        pipeline.producer_acquire(state, token);
        auto* const barrier = pipeline.producer_get_barrier(state);
        const int stage = state.index();
        ++state;
        token = pipeline.producer_try_acquire(state);
        if (cute::elect_one_sync()) {
          const int in_tile = block % kTileBlocks, k_tile = block / kTileBlocks;
          cute::copy(this->observed_tma_load_a_->with(*barrier, a_mask),
                     cute::group_modes<0, 2>(a_rows(cute::_, cute::_, in_tile, k_tile)), a_shared(cute::_, stage));
          cute::copy(this->observed_tma_load_b_->with(*barrier, b_mask),
                     cute::group_modes<0, 2>(b_rows(cute::_, cute::_, in_tile, k_tile)), b_shared(cute::_, stage));
        }
      }
    }
    return cute::make_tuple(state, BlockIterator{first + count});
  }

  // Loads the scales of `count` tiles, the same ones for each.
  template <class Pipeline, class State, class Inputs, class Coordinate, class Iterator>
  __device__ __forceinline__ auto load_sf(const Params& params, Pipeline pipeline, State state, const Inputs& inputs,
                                          const Coordinate& tile, const Iterator& from, int count, int = 0) {
    const auto [a, b, a_shared, b_shared, a_mask, b_mask] = inputs;
    return Base::load_sf(params, pipeline, state,
                         cute::make_tuple(first_everywhere(a), first_everywhere(b), a_shared, b_shared, a_mask, b_mask), tile,
                         BlockIterator{static_cast<std::int32_t>(*from)}, count);
  }
};

}  // namespace ozfp4::cuda::tcgen05
