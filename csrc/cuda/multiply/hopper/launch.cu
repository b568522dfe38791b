// The variants of the Hopper kernel.
#include <cuda_runtime.h>

#include "cuda/multiply/hopper/kernel.cuh"
#include "cuda/multiply/launch.hpp"

namespace ozfp4::cuda::hopper {
namespace {

template <bool kSigned>
struct Variants {
  static constexpr int kCount = kTileShapes;
  template <int kShape>
  static void start(const MultiplyParams& params, const LaunchConfig& how) {
    using Own = Config<kGeometry[kShape].m, kGeometry[kShape].n, kSigned>;
    start_config<Own>(gemm_kernel<Own>, params, how);
  }
};

}  // namespace

void start(const MultiplyParams& params, TileShape shape, Element element, const LaunchConfig& how) {
  (is_signed(element) ? start_variant<Variants<true>> : start_variant<Variants<false>>)(shape, params, how);
}

}  // namespace ozfp4::cuda::hopper
