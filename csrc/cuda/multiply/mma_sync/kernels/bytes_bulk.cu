// Bytes by mma.sync, operands loaded by TMA: sm_90 and later.
#include "cuda/multiply/mma_sync/variants.cuh"

namespace ozfp4::cuda::mma_sync {

void start_bytes_bulk(const MultiplyParams& params, TileShape shape, Element element, const LaunchConfig& how) {
  (is_signed(element) ? start_family<ByteAtom<true>, BulkLoader> : start_family<ByteAtom<false>, BulkLoader>)(params, shape, how);
}

}  // namespace ozfp4::cuda::mma_sync
