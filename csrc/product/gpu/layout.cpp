#include "product/gpu/layout.hpp"

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "product/gpu/kept.hpp"
#include "product/gpu/memory.hpp"
#include "product/refusal.hpp"

namespace ozfp4::product {
namespace {

// With the plan that it was made from, kept under the plan's address.
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
      promise.precision, promise.updates, promise.has_integers, promise.modulus, promise.may_lengthen);
  const auto owned = kept->find_or_make(key, [&] {
    return std::make_shared<const OwnedPlan>(OwnedPlan{plan, cuda::make_cuda_plan(*plan, narrow<int>(k, "k"), kernel, promise)});
  });
  return {owned, &owned->made};
}

bool is_long(const cuda::CudaPlan& plan) { return plan.schedule.steps.size() > static_cast<std::size_t>(cuda::kMaxInlineSteps); }

// Threads make them without the lock, and the first one's are kept. A call that first has to end on the device of one thread may
// wait for another that a thread has yet to enqueue on its own.
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

cuda::CudaLayout lay_out_stages(const cuda::CudaPlan& plan, const cuda::CudaProduct& product, const cuda::Gpu& gpu,
                                std::int64_t bytes, const Shaping& how) {
  cuda::ForcedChoice forced{std::nullopt, how.forced.splits, how.forced.overlap};
  if (how.forced.tile) forced.shape = cuda::tile_of(plan.kernel, *how.forced.tile);
  const auto without_planes = cuda::make_layout_without_planes(plan, product, gpu, bytes, forced, how.direct, how.factors);
  const cuda::CudaProduct own = plan.plan.is_complex && !without_planes ? cuda::with_parts(product) : product;
  const cuda::CudaLayout layout = without_planes ? *without_planes : cuda::make_layout(plan, own, gpu, bytes, forced);
  static const GemmStep anywhere{};  // whether there are steps on the device is all that is looked at
  cuda::check_matmul(plan, layout, own, is_long(plan) ? &anywhere : nullptr, gpu);
  return layout;
}

Shaping shaping_on(int device, const Options& options, bool may_be_direct) {
  Shaping how(may_be_direct ? cuda::WithoutPlanes::where_it_pays : cuda::WithoutPlanes::never);
  const DeviceForced& forced = how.forced = forced_on_devices();
  const bool is_forced = forced.kernel || forced.tile || forced.splits || forced.overlap;
  if (is_forced) how.direct = cuda::WithoutPlanes::never;  // what is forced are stages
  if (forced.direct) how.direct = *forced.direct;
  if (options.has_stages) how.direct = cuda::WithoutPlanes::never;
  how.factors = device_rates(device).ways;
  return how;
}

void launch_turns(const LaidOut& made, const cuda::CudaProduct& product, char* stages, const Launching& how,
                  cuda::LaunchOptions options) {
  if (how.ways != nullptr) how.ways->emplace_back(way_name(made.layout));
  for (std::int64_t turn = 0; turn < made.layout.turns.count; ++turn) {
    const cuda::Turn own = cuda::turn_at(product, made.layout.turns, turn);
    cuda::launch_matmul(*made.plan, made.layout, own, stages, made.steps, options);
    if (how.found != nullptr) how.found->add(*made.plan, made.layout, own, stages, options.stream);
    options.repair.adds = true;
  }
}

void describe(const LaidOut& made, std::int64_t bytes, DeviceFindings& found) {
  found.plan = made.chosen;
  found.fallback = made.fallback;
  found.workspace = bytes;
  found.kernel = kernel_text(*made.plan, made.layout);
}

}  // namespace ozfp4::product
