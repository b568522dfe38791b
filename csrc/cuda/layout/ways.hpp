// The ways to make a product on a GPU, what each takes by its model, and which one is taken: the one place where they are
// compared.
#pragma once

#include <cstdint>

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

// The time of the stages: microseconds on an H200, of as many multiprocessors as `gpu` has; other devices are taken to differ
// from it as in the ways without planes. The turn of a complex plan is of the real product, without parts. Precondition: as
// make_layout.
double microseconds_of_stages(const CudaPlan& plan, const Turn& turn, const Gpu& gpu);

// The part of that, and of certified products tile by tile, for entries without a certificate, normal(0, 1) operands: lines of
// fewer than some 32 entries have capacities of all lengths. cuda/direct holds the longest of their integers, and its time is the
// same.
double chain_microseconds(const Turn& turn, bool by_tiles);

// A turn as the kernels without planes take it.
ReconstructJob views_of(const Turn& turn);

}  // namespace ozfp4::cuda
