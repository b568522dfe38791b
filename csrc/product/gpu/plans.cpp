#include "product/gpu/plans.hpp"

#include "arith/narrow.hpp"
#include "product/gpu/kept.hpp"

namespace ozfp4::product {
namespace {

// With the plan that it was made of, under whose address it is kept.
struct OwnedPlan {
  std::shared_ptr<const Plan> of;
  cuda::CudaPlan made;
};
const void* shared_part(const OwnedPlan& owned) { return &owned; }

}  // namespace

std::shared_ptr<const cuda::CudaPlan> find_cuda_plan(const std::shared_ptr<const Plan>& plan, std::int64_t k, cuda::Kernel kernel,
                                                     const cuda::Promise& promise) {
  static auto* const kept = new Kept<OwnedPlan>(kMostCudaPlans, kMostCudaPlans);
  const Key key{static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(plan.get())),
                k,
                static_cast<std::int64_t>(kernel),
                static_cast<std::int64_t>(promise.accuracy),
                static_cast<std::int64_t>(promise.rounding),
                static_cast<std::int64_t>(promise.second),
                promise.precision,
                promise.updates,
                promise.is_whole,
                static_cast<std::int64_t>(promise.modulus),
                promise.may_lengthen};
  const auto owned = kept->find_or_make(key, [&] {
    return std::make_shared<const OwnedPlan>(OwnedPlan{plan, cuda::make_cuda_plan(*plan, narrow<int>(k, "k"), kernel, promise)});
  });
  return {owned, &owned->made};
}

}  // namespace ozfp4::product
