#include "product/gpu/layout.hpp"

#include <string>

#include "product/gpu/steps.hpp"
#include "product/refusal.hpp"

namespace ozfp4::product {

std::int64_t left_behind(std::int64_t taken, const char* what, const Options& options) {
  const std::int64_t limit = options.has_limit ? options.workspace_limit : std::int64_t(1) << 62;
  if (taken >= limit) {
    refuse_option(Fault::workspace, "workspace_limit",
                  std::to_string(limit) + " bytes are too few, " + what + " " + std::to_string(taken));
  }
  return limit - taken;
}

cuda::CudaLayout lay_out_stages(const cuda::CudaPlan& plan, const cuda::CudaProduct& product, const cuda::Gpu& gpu,
                                std::int64_t bytes, cuda::Direct direct) {
  const auto without_planes = cuda::make_direct_layout(plan, product, gpu, bytes, {}, direct);
  const cuda::CudaProduct own = plan.plan.is_complex && !without_planes ? cuda::with_parts(product) : product;
  const cuda::CudaLayout layout = without_planes ? *without_planes : cuda::make_layout(plan, own, gpu, bytes);
  static const GemmStep anywhere{};  // whether there are steps on the device is all that is looked at
  cuda::check_matmul(plan, layout, own, is_long(plan) ? &anywhere : nullptr, gpu);
  return layout;
}

}  // namespace ozfp4::product
