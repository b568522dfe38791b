// The variants of one mma.sync kernel: cmake/cuda.cmake names its function (OZFP4_START), atom and loader.
#include <cuda_runtime.h>

#include "cuda/multiply/launch.hpp"
#include "cuda/multiply/mma_sync/kernel.cuh"

namespace ozfp4::cuda::mma_sync {
namespace {

template <class Atom>
struct Variants {
  static constexpr int kCount = kShapeCount;
  template <int kShape>
  static void start(const MultiplyParams& params, const LaunchConfig& how) {
    constexpr WarpShape shape = kShapes[kShape];
    using Own =
        Config<Atom, OZFP4_LOADER, shape.m, shape.n, shape.warps_m, shape.warps_n, shape.row_bytes, shape.stages, shape.blocks>;
    start_config<Own>(gemm_kernel<Own>, params, how);
  }
};

}  // namespace

void OZFP4_START(const MultiplyParams& params, TileShape shape, Element element, const LaunchConfig& how) {
  (is_signed(element) ? start_variant<Variants<OZFP4_ATOM<true>>> : start_variant<Variants<OZFP4_ATOM<false>>>)(shape, params,
                                                                                                                how);
}

}  // namespace ozfp4::cuda::mma_sync
