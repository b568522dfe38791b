// The kernels of the short form that certify: compiled beside the others, whose code they leave as it is.
#include "cuda/reconstruct/short_launch.cuh"

namespace ozfp4::cuda {

void launch_certified(const ReconstructPlan& plan, const ReconstructJob& job, cudaStream_t stream,
                      const Certification& certification) {
  short_form::launch_kind<true>(plan, job, &certification, stream);
}

}  // namespace ozfp4::cuda
