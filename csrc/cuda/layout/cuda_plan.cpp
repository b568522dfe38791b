#include "cuda/layout/cuda_plan.hpp"

namespace ozfp4::cuda {

CudaPlan make_cuda_plan(const Plan& plan, int k, Kernel kernel) {
  CudaPlan made;
  made.plan = plan;
  made.bits = plan.bits;
  made.k = k;
  made.integer = plan.scheme == Scheme::integer;
  made.kernel = kernel;
  made.schedule = make_schedule(plan, element_of(plan, kernel), k);
  made.prefixes = make_prefix_rule(plan, kMaxPrefixes);
  made.encode = make_encode_plan(plan, made.schedule.element == Element::e2m1);
  if (!made.integer) made.reconstruct = make_reconstruct_plan(plan, k);
  return made;
}

}  // namespace ozfp4::cuda
