#include "product/gpu/plans.hpp"

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "arith/narrow.hpp"
#include "product/gpu/kept.hpp"
#include "product/gpu/memory.hpp"
#include "product/refusal.hpp"

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
  Key key;
  add(key, reinterpret_cast<std::intptr_t>(plan.get()), k, kernel, promise.accuracy, promise.rounding, promise.second,
      promise.precision, promise.updates, promise.is_whole, promise.modulus, promise.may_lengthen);
  const auto owned = kept->find_or_make(key, [&] {
    return std::make_shared<const OwnedPlan>(OwnedPlan{plan, cuda::make_cuda_plan(*plan, narrow<int>(k, "k"), kernel, promise)});
  });
  return {owned, &owned->made};
}

bool is_long(const cuda::CudaPlan& plan) { return plan.schedule.steps.size() > static_cast<std::size_t>(cuda::kMaxInlineSteps); }

// Threads make them without the lock, and the first one's are kept: what the device of one thread has to end first may wait for
// what another thread has yet to enqueue on its own.
const GemmStep* steps_on(const Device& device, const cuda::CudaPlan& plan, cudaStream_t stream) {
  if (!is_long(plan)) return nullptr;
  static std::mutex lock;
  static auto* const held = new std::map<std::pair<int, std::string>, std::unique_ptr<const DeviceMemory>>;
  const std::vector<GemmStep>& steps = plan.schedule.steps;
  const std::pair key(device.index, std::string(reinterpret_cast<const char*>(steps.data()), steps.size() * sizeof(GemmStep)));
  {
    const std::lock_guard<std::mutex> hold(lock);
    if (const auto found = held->find(key); found != held->end()) return reinterpret_cast<const GemmStep*>(found->second->get());
  }
  if (is_captured(stream)) {
    refuse(Fault::unsupported,
           "stream: the first product by this schedule puts it on the device, which a CUDA graph cannot capture; run one such "
           "product before the capture");
  }
  const Aside aside;
  auto memory = std::make_unique<const DeviceMemory>(key.second.size());
  memory->fill(key.second.data(), aside);
  const std::lock_guard<std::mutex> hold(lock);
  return reinterpret_cast<const GemmStep*>(held->try_emplace(key, std::move(memory)).first->second->get());
}

}  // namespace ozfp4::product
