#include "product/gpu/memory.hpp"

#include <map>
#include <utility>
#include <vector>

#include "cuda/runtime/device.hpp"
#include "cuda/stages.hpp"
#include "product/refusal.hpp"

namespace ozfp4::product {
namespace {

constexpr std::size_t kMostStreams = 256;

using Key = std::pair<int, std::int64_t>;  // the device and the stream's number
std::mutex lock;

std::map<Key, std::shared_ptr<StreamMemory>>& memories() {
  static auto* const held = new std::map<Key, std::shared_ptr<StreamMemory>>;  // it outlives the runtime
  return *held;
}

}  // namespace

StreamMemory::StreamMemory(const Aside& aside) : counters(cuda::kCounterBytes), workspace(kSharedWorkspace) {
  const std::vector<char> zeros(cuda::kCounterBytes);
  counters.fill(zeros.data(), aside);
}

std::shared_ptr<StreamMemory> stream_memory(int device, cudaStream_t stream) {
  const std::int64_t number = cuda::stream_id(stream, device);
  if (number < 0) return nullptr;
  const Key key(device, number);
  {
    const std::lock_guard<std::mutex> hold(lock);
    const auto found = memories().find(key);
    if (found != memories().end()) return found->second;
    if (memories().size() >= kMostStreams) return nullptr;
  }
  try {
    const Aside aside;  // lets the thread allocate although another one captures
    auto made = std::make_shared<StreamMemory>(aside);
    const std::lock_guard<std::mutex> hold(lock);
    return memories().try_emplace(key, made).first->second;  // another thread's, if it was first; the lock is free by then
  } catch (const Refusal& refusal) {
    if (refusal.fault() != Fault::out_of_memory) throw;
    return nullptr;
  }
}

void forget(const std::shared_ptr<StreamMemory>& memory) {
  memory->is_forgotten = true;
  const std::lock_guard<std::mutex> hold(lock);
  for (auto own = memories().begin(); own != memories().end(); ++own) {
    if (own->second == memory) {
      memories().erase(own);
      return;
    }
  }
}

}  // namespace ozfp4::product
