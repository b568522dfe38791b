// The kernels of limbs as bytes: by tables, and of digits.
#include "cuda/encode/launch.cuh"

namespace ozfp4::cuda {

void launch_limbs(const EncodeLaunch& how) {
  switch (how.plan.kind) {
    case EncodeKind::limb_tables: return launch_words<EncodeKind::limb_tables, 1, 2, 3, kMaxByteWords>(how);
    case EncodeKind::pair_tables: return launch_words<EncodeKind::pair_tables, 2, 3>(how);
    case EncodeKind::digits13: return launch_words<EncodeKind::digits13, 3, kMaxByteWords>(how);
    case EncodeKind::digits256: return launch_words<EncodeKind::digits256, 3, kMaxByteWords>(how);
    case EncodeKind::int8_limbs: return launch_kernel<std::int8_t, EncodeKind::int8_limbs, 1, false>(how);
    default: throw std::logic_error("no limbs as bytes");
  }
}

}  // namespace ozfp4::cuda
