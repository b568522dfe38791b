// E2M1 codes with the stand-in for the FP4 tensor core, operands loaded by TMA: for tests on sm_90 and later.
#include "multiply/warp_variants.cuh"

namespace ozfp4::cuda::warp {

cudaError_t launch_stand_in_bulk(const WarpParams& params, const Launch& launch) {
  return launch_family<StandInAtom, BulkLoader>(params, launch);
}

}  // namespace ozfp4::cuda::warp
