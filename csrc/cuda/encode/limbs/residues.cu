#include "cuda/encode/launch.cuh"

namespace ozfp4::cuda {

void launch_residues(const EncodeLaunch& how) {
  if (how.plan.kind == EncodeKind::pairs) return launch_words<EncodeKind::pairs, 1, 2, 3>(how);
  launch_words<EncodeKind::residues, 1, 2, 3, 4, kMaxByteWords>(how);
}

}  // namespace ozfp4::cuda
