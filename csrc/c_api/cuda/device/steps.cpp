#include "c_api/cuda/device/steps.hpp"

#include <memory>
#include <string>
#include <utility>

#include "c_api/checked/status.hpp"
#include "c_api/cuda/device/aside.hpp"
#include "c_api/cuda/device/memory.hpp"
#include "c_api/cuda/device/once.hpp"

namespace ozfp4::c_api {
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
      refuse(OZFP4_UNSUPPORTED,
             "stream: the first product by this schedule puts it on the device, which a CUDA graph cannot capture; run one such "
             "product before");
    }
    const Aside aside;
    auto memory = std::make_unique<const DeviceMemory>(key.second.size());
    memory->fill(key.second.data(), aside);
    return memory;
  });
  return reinterpret_cast<const GemmStep*>(found->get());
}

}  // namespace ozfp4::c_api
