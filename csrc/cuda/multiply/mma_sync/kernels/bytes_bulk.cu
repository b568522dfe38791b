// Bytes by mma.sync, operands loaded by TMA: sm_90 and later.
#include "cuda/multiply/mma_sync/variants.cuh"

namespace ozfp4::cuda::warp {

void launch_bytes_bulk(const WarpParams& params, TileShape shape, const LaunchConfig& how, bool is_signed) {
  return is_signed ? launch_family<ByteAtom<true>, BulkLoader>(params, shape, how)
                   : launch_family<ByteAtom<false>, BulkLoader>(params, shape, how);
}

}  // namespace ozfp4::cuda::warp
