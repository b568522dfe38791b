// The kernels of limbs as E2M1 codes, for GPUs that multiply those.
#include "cuda/encode/launch.cuh"
#include "cuda/encode/scale_encode.cuh"

namespace ozfp4::cuda {

void launch_codes(const EncodeLaunch& how) {
  switch (how.plan.kind) {
    case EncodeKind::limb_codes: return launch_words<EncodeKind::limb_codes, 1, 2, 3, kMaxByteWords>(how);
    case EncodeKind::pair_codes: return launch_words<EncodeKind::pair_codes, 2, 3>(how);
    case EncodeKind::digit13_codes: return launch_words<EncodeKind::digit13_codes, 3, kMaxByteWords>(how);
    default: throw std::logic_error("no limbs as codes");
  }
}

bool scale_and_encode_codes(const ScaleEncodeLaunch& how) { return scale_and_encode<EncodeKind::limb_codes>(how); }

}  // namespace ozfp4::cuda
