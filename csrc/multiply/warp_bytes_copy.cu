// Bytes by mma.sync, operands loaded by cp.async: sm_80 and later.
#include "multiply/warp_variants.cuh"

namespace ozfp4::cuda::warp {

cudaError_t launch_bytes_copy(const WarpParams& params, const Launch& launch, bool is_signed) {
  return is_signed ? launch_family<ByteAtom<true>, CopyLoader>(params, launch)
                   : launch_family<ByteAtom<false>, CopyLoader>(params, launch);
}

}  // namespace ozfp4::cuda::warp
