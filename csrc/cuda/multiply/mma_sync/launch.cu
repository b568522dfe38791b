// The variants of one mma.sync kernel: cmake/cuda.cmake names its function (OZFP4_START), atom and loader.
#include <cuda_runtime.h>

#include "cuda/multiply/launch.hpp"
#include "cuda/multiply/mma_sync/kernel.cuh"

namespace ozfp4::cuda::mma_sync {
namespace {

template <class Atom>
void start_variant(const MultiplyParams& params, TileShape shape, const LaunchConfig& how) {
  with_shape(OZFP4_LOADER::Shapes(), shape, [&](auto number) {
    constexpr WarpShape tile = kShapes[number()];
    using Own = Config<Atom, OZFP4_LOADER, tile.m, tile.n, tile.warps_m, tile.warps_n, tile.row_bytes, tile.stages, tile.blocks>;
    start_config<Own>(gemm_kernel<Own>, params, how);
  });
}

}  // namespace

void OZFP4_START(const MultiplyParams& params, TileShape shape, Element element, const LaunchConfig& how) {
  (is_signed(element) ? start_variant<OZFP4_ATOM<true>> : start_variant<OZFP4_ATOM<false>>)(params, shape, how);
}

}  // namespace ozfp4::cuda::mma_sync
