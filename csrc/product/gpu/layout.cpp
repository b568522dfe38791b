#include "product/gpu/layout.hpp"

#include "product/gpu/plans.hpp"

namespace ozfp4::product {

cuda::CudaLayout lay_out_stages(const cuda::CudaPlan& plan, const cuda::CudaProduct& product, const cuda::Gpu& gpu,
                                std::int64_t bytes, const Shaping& how) {
  cuda::ForcedChoice forced{std::nullopt, how.forced.splits, how.forced.overlap};
  if (how.forced.tile) forced.shape = cuda::tile_of(plan.kernel, *how.forced.tile);
  const auto without_planes = cuda::make_direct_layout(plan, product, gpu, bytes, forced, how.direct, how.factors);
  const cuda::CudaProduct own = plan.plan.is_complex && !without_planes ? cuda::with_parts(product) : product;
  const cuda::CudaLayout layout = without_planes ? *without_planes : cuda::make_layout(plan, own, gpu, bytes, forced);
  static const GemmStep anywhere{};  // whether there are steps on the device is all that is looked at
  cuda::check_matmul(plan, layout, own, is_long(plan) ? &anywhere : nullptr, gpu);
  return layout;
}

Shaping shaping_on(int device, const Options& options, bool may_be_direct) {
  Shaping how(may_be_direct ? cuda::Direct::where_it_pays : cuda::Direct::never);
  const DeviceForced& forced = how.forced = forced_on_devices();
  const bool is_forced = forced.kernel || forced.tile || forced.splits || forced.overlap;
  if (is_forced) how.direct = cuda::Direct::never;  // what is forced are stages
  if (forced.direct) how.direct = *forced.direct;
  if (options.has_stages) how.direct = cuda::Direct::never;
  how.factors = device_rates(device).ways;
  return how;
}

}  // namespace ozfp4::product
