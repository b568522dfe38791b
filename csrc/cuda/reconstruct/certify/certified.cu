// The kernels of the short form that certify: compiled beside the others, whose code they leave as it is.
#include "cuda/reconstruct/short_launch.cuh"

namespace ozfp4::cuda {

void launch_certified(const ReconstructPlan& plan, const ReconstructJob& job, cudaStream_t stream,
                      const Certification& certification) {
  short_form::launch_kind<true>(plan, job, &certification, stream);
}

bool launch_either(const ReconstructPlan& few, const ReconstructPlan& many, const ReconstructJob& job, cudaStream_t stream,
                   const Certification& certification) {
  using namespace short_form;
  using Few = Shape<4, 1, false, true>;
  using Many = Shape<6, 2, false, true>;
  const auto is = [](const ReconstructPlan& plan, auto shape) {
    using S = decltype(shape);
    return plan.words == S::Words && plan.row_steps == S::Steps;
  };
  if (!is(few, Few()) || !is(many, Many()) || job.residues.splits > 1 || job.result.type != ElementType::float64) return false;
  if (job.result.columns > kMostNarrow)
    return short_form::launch_either<double, Few, Many>(few, many, job, certification, stream);
  return short_form::launch_either<double, Shape<4, 1, false, true, true>, Many>(few, many, job, certification, stream);
}

}  // namespace ozfp4::cuda
