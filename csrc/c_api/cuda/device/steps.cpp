#include "c_api/cuda/device/steps.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "c_api/checked/status.hpp"
#include "c_api/cuda/device/memory.hpp"

namespace ozfp4::c_api {
namespace {

std::string bytes_of(const Schedule& schedule) {
  return {reinterpret_cast<const char*>(schedule.steps.data()), schedule.steps.size() * sizeof(GemmStep)};
}

}  // namespace

bool is_long(const cuda::CudaPlan& plan) { return plan.schedule.steps.size() > static_cast<std::size_t>(cuda::kMaxInlineSteps); }

const GemmStep* steps_on(const Device& device, const cuda::CudaPlan& plan, cudaStream_t stream) {
  if (!is_long(plan)) return nullptr;
  static auto* const held = new std::map<std::pair<int, std::string>, std::unique_ptr<const DeviceMemory>>;
  static auto* const lock = new std::mutex;
  std::pair<int, std::string> key(device.index, bytes_of(plan.schedule));
  const std::lock_guard<std::mutex> alone(*lock);
  auto found = held->find(key);
  if (found == held->end()) {
    if (is_captured(stream)) {
      refuse(OZFP4_UNSUPPORTED,
             "stream: the first product by this schedule puts it on the device, which a CUDA graph cannot capture; run one such "
             "product before");
    }
    auto memory = std::make_unique<const DeviceMemory>(key.second.size());
    memory->fill(key.second.data());
    found = held->emplace(std::move(key), std::move(memory)).first;
  }
  return reinterpret_cast<const GemmStep*>(found->second->get());
}

}  // namespace ozfp4::c_api
