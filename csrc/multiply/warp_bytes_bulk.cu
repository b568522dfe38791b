// Bytes by mma.sync, operands loaded by TMA: sm_90 and later.
#include "multiply/warp_variants.cuh"

namespace ozfp4::cuda::warp {

cudaError_t launch_bytes_bulk(const WarpParams& params, const Launch& launch, bool is_signed) {
  return is_signed ? launch_family<ByteAtom<true>, BulkLoader>(params, launch)
                   : launch_family<ByteAtom<false>, BulkLoader>(params, launch);
}

}  // namespace ozfp4::cuda::warp
