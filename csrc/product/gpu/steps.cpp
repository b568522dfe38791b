#include "product/gpu/steps.hpp"

#include <memory>
#include <string>
#include <utility>

#include "product/gpu/aside.hpp"
#include "product/gpu/memory.hpp"
#include "product/gpu/once.hpp"
#include "product/refusal.hpp"

namespace ozfp4::product {
namespace {

std::string bytes_of(const Schedule& schedule) {
  return {reinterpret_cast<const char*>(schedule.steps.data()), schedule.steps.size() * sizeof(GemmStep)};
}

}  // namespace

bool is_long(const cuda::CudaPlan& plan) { return plan.schedule.steps.size() > static_cast<std::size_t>(cuda::kMaxInlineSteps); }

const GemmStep* steps_on(const Device& device, const cuda::CudaPlan& plan, cudaStream_t stream) {
  if (!is_long(plan)) return nullptr;
  using Key = std::pair<int, std::string>;
  static auto* const held = new OncePerDevice<Key, std::unique_ptr<const DeviceMemory>>;
  const Key key(device.index, bytes_of(plan.schedule));
  const std::unique_ptr<const DeviceMemory>& found = held->find_or_make(device.index, key, [&] {
    if (is_captured(stream)) {
      refuse(Fault::unsupported,
             "stream: the first product by this schedule puts it on the device, which a CUDA graph cannot capture; run one such "
             "product before the capture");
    }
    const Aside aside;
    auto memory = std::make_unique<const DeviceMemory>(key.second.size());
    memory->fill(key.second.data(), aside);
    return memory;
  });
  return reinterpret_cast<const GemmStep*>(found->get());
}

}  // namespace ozfp4::product
