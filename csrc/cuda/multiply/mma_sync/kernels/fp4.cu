// E2M1 codes by the FP4 tensor cores of sm_120 and sm_121, operands loaded by TMA.
#include "cuda/multiply/mma_sync/variants.cuh"

namespace ozfp4::cuda::warp {

void launch_fp4(const WarpParams& params, TileShape shape, const LaunchConfig& how) {
  return launch_family<Fp4Atom, BulkLoader>(params, shape, how);
}

}  // namespace ozfp4::cuda::warp
