// Bytes by mma.sync, operands loaded by cp.async: sm_80 and later.
#include "cuda/multiply/mma_sync/variants.cuh"

namespace ozfp4::cuda::mma_sync {

void start_bytes_copy(const MultiplyParams& params, TileShape shape, Element element, const LaunchConfig& how) {
  (is_signed(element) ? start_family<ByteAtom<true>, CopyLoader> : start_family<ByteAtom<false>, CopyLoader>)(params, shape, how);
}

}  // namespace ozfp4::cuda::mma_sync
