// Bytes by mma.sync, operands loaded by cp.async: sm_80 and later.
#include "cuda/multiply/mma_sync/variants.cuh"

namespace ozfp4::cuda::warp {

void launch_bytes_copy(const WarpParams& params, TileShape shape, const LaunchConfig& how, bool is_signed) {
  return is_signed ? launch_family<ByteAtom<true>, CopyLoader>(params, shape, how)
                   : launch_family<ByteAtom<false>, CopyLoader>(params, shape, how);
}

}  // namespace ozfp4::cuda::warp
