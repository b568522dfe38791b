// The variants of the Hopper kernel.
#include <cuda_runtime.h>

#include "cuda/multiply/hopper/kernel.cuh"
#include "cuda/multiply/kernels.hpp"

namespace ozfp4::cuda::hopper {
namespace {

template <class C>
void start_variant(const MultiplyParams& params, const LaunchConfig& how) {
  LaunchConfig config = how;
  config.block = dim3(C::kThreads);
  config.shared_bytes = C::kSharedBytes;
  cuda::launch(gemm_kernel<C>, config, params);
}

// In the order of TileShape.
template <bool kSigned>
constexpr void (*kVariants[kTileShapes])(const MultiplyParams&, const LaunchConfig&) = {
    start_variant<Config<128, 256, kSigned>>, start_variant<Config<128, 128, kSigned>>, start_variant<Config<128, 64, kSigned>>,
    start_variant<Config<64, 256, kSigned>>,  start_variant<Config<64, 128, kSigned>>,  start_variant<Config<64, 64, kSigned>>,
    start_variant<Config<256, 192, kSigned>>};

}  // namespace

void start(const MultiplyParams& params, TileShape shape, Element element, const LaunchConfig& how) {
  (is_signed(element) ? kVariants<true> : kVariants<false>)[static_cast<int>(shape)](params, how);
}

}  // namespace ozfp4::cuda::hopper
