// The main loops of the sm_100 kernels: CUTLASS's collectives, fed with the planes of a pass. CUTLASS derives the matrices of
// A and of B that belong to an output matrix from one number. Here both operands are flattened [plane][batch] arrays,
// and each range of K blocks is loaded from the matrices that the pass names.
#pragma once

#include <cutlass/gemm/collective/collective_builder.hpp>

#include "cuda/multiply/tcgen05/collective/walk.cuh"
#include "cuda/multiply/tcgen05/pass.hpp"

namespace ozfp4::cuda::tcgen05 {

// The tiles of a TMA tensor (box, row tile, K tile, matrix), counted from another matrix on.
template <class Tensor>
__device__ __forceinline__ auto from_matrix(const Tensor& tiles, std::int32_t matrix) {
  return cute::make_tensor(tiles.data() + tiles.layout()(cute::make_coord(cute::Int<0>{}, 0, 0, matrix)), tiles.layout());
}

// The same, with the first tile at every coordinate.
template <class Tensor>
__device__ __forceinline__ auto first_everywhere(const Tensor& tiles) {
  using Zero = cute::Int<0>;
  const auto shape = cute::make_shape(cute::shape<0>(tiles), 1, 1, 1);
  return cute::make_tensor(tiles.data(),
                           cute::make_layout(shape, cute::make_stride(cute::stride<0>(tiles), Zero{}, Zero{}, Zero{})));
}

// A CUTLASS collective that gets a pass along with its own arguments.
template <class Base>
class WithPass : public Base {
 public:
  using Base::Base;

  struct Arguments : Base::Arguments {
    const Pass* pass = nullptr;
    int matrices = 1;  // of the larger operand
  };
  struct Params : Base::Params {
    Pass pass;
  };

  // CUTLASS checks a single tile, whatever the problem: rows along K are padded to the 16 bytes that it needs, and the scales
  // are those of one tile.
  template <class Problem>
  static bool can_implement(const Problem&, const Arguments& arguments) {
    using Tile = typename Base::TileShape;
    return Base::can_implement(cute::make_shape(static_cast<int>(cute::size<0>(Tile{})), static_cast<int>(cute::size<1>(Tile{})),
                                                static_cast<int>(cute::size<2>(Tile{})), 1),
                               arguments);
  }

  template <class Problem>
  static Params to_underlying_arguments(const Problem& problem, const Arguments& arguments, void* workspace,
                                        const cutlass::KernelHardwareInfo& hardware) {
    const typename Base::Arguments& base = arguments;
    const auto [m, n, k, l] = problem;
    return {Base::to_underlying_arguments(cute::make_shape(m, n, k, arguments.matrices), base, workspace, hardware),
            *arguments.pass};
  }
};

// The loads of both kinds of operands. Base: a CUTLASS collective. Derived: has `inputs_of`.
template <class Base, class Derived, int kBlockEntries>
class PassMainloop : public WithPass<Base> {
 public:
  using typename WithPass<Base>::Params;

  template <class Cluster>
  __device__ __forceinline__ PassMainloop(const Params& params, Cluster cluster, std::uint32_t rank)
      : WithPass<Base>(params, cluster, rank), pass_(params.pass) {}

  // Loads `count` K blocks of the sum of an output tile, from the block `from` on.
  template <class Pipeline, class State, class Inputs, class Coordinate>
  __device__ __forceinline__ auto load(Pipeline pipeline, State state, const Inputs& inputs, const Coordinate& tile,
                                       BlockIterator from, int count) {
    const OutputMatrix matrix = output_matrix(pass_, cute::get<3>(tile));
    const Operands batch = find_operands(pass_, matrix.tile, matrix.split);
    const auto in_matrix = cute::make_coord(cute::get<0>(tile), cute::get<1>(tile), cute::get<2>(tile), 0);
    RangeWalk<kBlockEntries> walk(pass_, matrix, *from, count);
    for (LoadRange range; walk.next(&range);) {
      const auto moved =
          Derived::inputs_of(inputs, range.a_plane * pass_.a_plane_step + batch.a, range.b_plane * pass_.b_plane_step + batch.b);
      const auto [next, unused] = Base::load(pipeline, state, moved, in_matrix, BlockIterator{range.first}, range.count);
      state = next;
    }
    return cute::make_tuple(state, BlockIterator{*from + count});
  }

 private:
  const Pass& pass_;
};

// Bytes.
template <class Base, int kBlockEntries>
class ByteMainloop : public PassMainloop<Base, ByteMainloop<Base, kBlockEntries>, kBlockEntries> {
  using Loop = PassMainloop<Base, ByteMainloop<Base, kBlockEntries>, kBlockEntries>;

 public:
  using Loop::Loop;

  template <class Inputs>
  static __device__ __forceinline__ auto inputs_of(const Inputs& inputs, std::int32_t a_matrix, std::int32_t b_matrix) {
    const auto [k_tiles, a, b, a_shared, b_shared, a_mask, b_mask] = inputs;
    return typename Base::LoadParams{k_tiles, from_matrix(a, a_matrix), from_matrix(b, b_matrix), a_shared, b_shared, a_mask,
                                     b_mask};
  }
};

// E2M1 codes with block scales. The scale tensors hold a single tile, which is loaded for every block: 2 KB that stay in L2.
// True scales would be 1/16 of the bytes of the operands.
template <class Base, int kBlockEntries>
class Fp4Mainloop : public PassMainloop<Base, Fp4Mainloop<Base, kBlockEntries>, kBlockEntries> {
  using Loop = PassMainloop<Base, Fp4Mainloop<Base, kBlockEntries>, kBlockEntries>;

 public:
  using Loop::Loop;

  template <class Inputs>
  static __device__ __forceinline__ auto inputs_of(const Inputs& inputs, std::int32_t a_matrix, std::int32_t b_matrix) {
    const auto [k_tiles, a, b, a_shared, b_shared, a_scales, b_scales, a_scales_shared, b_scales_shared, a_mask, b_mask,
                a_scales_mask, b_scales_mask] = inputs;
    return typename Base::LoadParams{k_tiles,
                                     from_matrix(a, a_matrix),
                                     from_matrix(b, b_matrix),
                                     a_shared,
                                     b_shared,
                                     first_everywhere(a_scales),
                                     first_everywhere(b_scales),
                                     a_scales_shared,
                                     b_scales_shared,
                                     a_mask,
                                     b_mask,
                                     a_scales_mask,
                                     b_scales_mask};
  }
};

}  // namespace ozfp4::cuda::tcgen05
