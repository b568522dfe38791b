// E2M1 codes by the FP4 tensor cores of sm_120 and sm_121, operands loaded by TMA.
#include "cuda/multiply/mma_sync/variants.cuh"

namespace ozfp4::cuda::mma_sync {

void start_fp4(const MultiplyParams& params, TileShape shape, Element, const LaunchConfig& how) {
  start_family<Fp4Atom, BulkLoader>(params, shape, how);
}

}  // namespace ozfp4::cuda::mma_sync
