// E2M1 codes by the FP4 tensor cores of sm_120 and sm_121, operands loaded by TMA.
#include "multiply/warp_variants.cuh"

namespace ozfp4::cuda::warp {

cudaError_t launch_fp4(const WarpParams& params, const Launch& launch) {
  return launch_family<Fp4Atom, BulkLoader>(params, launch);
}

}  // namespace ozfp4::cuda::warp
