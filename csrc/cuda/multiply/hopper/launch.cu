// The variants of the Hopper kernel.
#include <cuda_runtime.h>

#include "cuda/multiply/hopper/kernel.cuh"
#include "cuda/multiply/launch.hpp"

namespace ozfp4::cuda::hopper {
namespace {

template <bool kSigned>
void start_variant(const MultiplyParams& params, TileShape shape, const LaunchConfig& how) {
  with_shape(std::make_integer_sequence<int, kTileShapes>(), shape, [&](auto number) {
    constexpr TileGeometry tile = kGeometry[number()];
    using Own = Config<tile.m, tile.n, kSigned>;
    start_config<Own>(gemm_kernel<Own>, params, how);
  });
}

}  // namespace

void start(const MultiplyParams& params, TileShape shape, Element element, const LaunchConfig& how) {
  is_signed(element) ? start_variant<true>(params, shape, how) : start_variant<false>(params, shape, how);
}

}  // namespace ozfp4::cuda::hopper
