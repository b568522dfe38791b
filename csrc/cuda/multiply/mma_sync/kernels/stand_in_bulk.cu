// E2M1 codes with the stand-in for the FP4 tensor core, operands loaded by TMA: for tests on sm_90 and later.
#include "cuda/multiply/mma_sync/variants.cuh"

namespace ozfp4::cuda::mma_sync {

void start_stand_in_bulk(const MultiplyParams& params, TileShape shape, Element, const LaunchConfig& how) {
  start_family<StandInAtom, BulkLoader>(params, shape, how);
}

}  // namespace ozfp4::cuda::mma_sync
