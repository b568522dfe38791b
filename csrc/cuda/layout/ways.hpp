// The ways to make a product on a GPU, what each takes by its model, and which one is taken: the one place where they are
// compared.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/layout/cuda_plan.hpp"
#include "cuda/layout/turns.hpp"
#include "cuda/multiply/contract.hpp"
#include "cuda/reconstruct/reconstruct.hpp"

namespace ozfp4::cuda {

// Whether a product may be made without planes in memory: never, where that takes less time, or wherever there is a kernel of one
// way.
enum class WithoutPlanes : std::uint8_t { never, where_it_pays, direct, thin, tiles };

// A way to make a product.
enum class Way : std::uint8_t { stages, direct, thin, tiles };

// A number for each way to make a product.
struct OfWays {
  double direct, thin, tiles, stages;
};

// Microseconds by the models, which an H200 gave; INFINITY where there is no kernel. Precondition: a product that one turn makes,
// as make_layout.
OfWays model_times(const CudaPlan& plan, const CudaProduct& product, const Gpu& gpu);

// The way of a product that `turn` makes. The product of a complex plan is the real one, without parts. `factors`: what this
// device takes over what the models say, above 0.
Way find_way(const CudaPlan& plan, const CudaProduct& product, const Turn& turn, const Gpu& gpu, WithoutPlanes direct,
             const OfWays& factors);

// The time of the stages: microseconds on an H200, of as many multiprocessors as `gpu` has. Other devices are taken to differ
// from it as in the ways without planes. With tcgen05 multiply has the time of the plan's kernel. The turn of a complex plan is
// of the real product, without parts. Precondition: as make_layout.
double microseconds_of_stages(const CudaPlan& plan, const Turn& turn, const Gpu& gpu);

// The part of that, and of certified products tile by tile, for entries without a certificate, with normal(0, 1) operands. Lines
// of fewer than some 32 entries have capacities of all lengths. cuda/direct holds the longest of their integers, and its time is
// the same.
double chain_microseconds(const Turn& turn, bool by_tiles);

// A stack of products: the inner dimension of the real product, and rows and columns, of which a complex entry is one.
struct ProductShape {
  std::int64_t inner = 1, m = 0, n = 0, matrices = 1;  // m = 0: all but `inner` is not known

  // Whether kernels are compared by it: kernels of tcgen05 have tiles of 256 x 256, others small ones. Other devices keep the
  // order of find_kernel, as the models of their kernels were not fitted together.
  bool decides_on(const Gpu& gpu) const { return m > 0 && gpu.has_tcgen05(); }
};

// Clocks of multiply by the kernel's model.
double clocks_of(const Plan& plan, Kernel kernel, const ProductShape& shape, const Gpu& gpu);

// Kernels that multiply planes of the plan, the fastest first where the shape decides.
void order_by_clocks(std::vector<Kernel>& kernels, const Plan& plan, const ProductShape& shape, const Gpu& gpu);

// A turn as the kernels without planes take it.
ReconstructJob views_of(const Turn& turn);

}  // namespace ozfp4::cuda
