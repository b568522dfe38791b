// Instantiates and starts the variants of one atom and one loader.
#pragma once

#include <cuda_runtime.h>

#include "cuda/multiply/kernels.hpp"
#include "cuda/multiply/mma_sync/kernel.cuh"
#include "cuda/multiply/mma_sync/tiles.hpp"

namespace ozfp4::cuda::mma_sync {

template <class Atom, class Loader, int kShape>
using Variant = Config<Atom, Loader, kShapes[kShape].m, kShapes[kShape].n, kShapes[kShape].warps_m, kShapes[kShape].warps_n,
                       kShapes[kShape].row_bytes, kShapes[kShape].stages, kShapes[kShape].blocks>;

template <class C>
void start_variant(const MultiplyParams& params, const LaunchConfig& how) {
  LaunchConfig config = how;
  config.block = dim3(C::kThreads);
  config.shared_bytes = C::kSharedBytes;
  cuda::launch(gemm_kernel<C>, config, params);
}

template <class Atom, class Loader>
void start_family(const MultiplyParams& params, TileShape shape, const LaunchConfig& how) {
  static constexpr void (*variants[kShapeCount])(const MultiplyParams&, const LaunchConfig&) = {
      start_variant<Variant<Atom, Loader, 0>>, start_variant<Variant<Atom, Loader, 1>>, start_variant<Variant<Atom, Loader, 2>>,
      start_variant<Variant<Atom, Loader, 3>>, start_variant<Variant<Atom, Loader, 4>>, start_variant<Variant<Atom, Loader, 5>>};
  variants[static_cast<int>(shape)](params, how);
}

}  // namespace ozfp4::cuda::mma_sync
