// Instantiates and launches the variants of one atom and one loader.
#pragma once

#include <cuda_runtime.h>

#include "cuda/launch.hpp"
#include "cuda/multiply/mma_sync/kernel.cuh"
#include "cuda/multiply/mma_sync/shapes.hpp"
#include "cuda/multiply/mma_sync/variants.hpp"

namespace ozfp4::cuda::warp {

template <class Atom, class Loader, int kShape>
using Variant = Config<Atom, Loader, kShapes[kShape].m, kShapes[kShape].n, kShapes[kShape].warps_m, kShapes[kShape].warps_n,
                       kShapes[kShape].row_bytes, stage_count(kShapes[kShape], Loader::kExtraStages), kShapes[kShape].blocks>;

template <class C>
void launch_variant(const WarpParams& params, const LaunchConfig& how) {
  LaunchConfig config = how;
  config.block = dim3(C::kThreads);
  config.shared_bytes = C::kSharedBytes;
  cuda::launch(warp_gemm_kernel<C>, config, params);
}

template <class Atom, class Loader>
void launch_family(const WarpParams& params, TileShape shape, const LaunchConfig& how) {
  using Launcher = void (*)(const WarpParams&, const LaunchConfig&);
  static constexpr Launcher launchers[kTileShapes] = {
      launch_variant<Variant<Atom, Loader, 0>>, launch_variant<Variant<Atom, Loader, 1>>,
      launch_variant<Variant<Atom, Loader, 2>>, launch_variant<Variant<Atom, Loader, 3>>,
      launch_variant<Variant<Atom, Loader, 4>>, launch_variant<Variant<Atom, Loader, 5>>};
  launchers[static_cast<int>(shape)](params, how);
}

}  // namespace ozfp4::cuda::warp
