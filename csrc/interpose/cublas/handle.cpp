#include "interpose/cublas/handle.hpp"

#include <atomic>
#include <cstdint>
#include <map>

#include "interpose/call/bypass.hpp"
#include "interpose/process/fork.hpp"
#include "interpose/process/table.hpp"
#include "interpose/symbols/real.hpp"

namespace ozfp4::interpose::cublas {
namespace {

ForkLock lock;

struct HandleKey {
  Handle handle;
  bool operator==(const HandleKey& other) const { return handle == other.handle; }
  std::uint64_t hash() const { return mix(reinterpret_cast<std::uintptr_t>(handle)); }
};
struct KnownSpace {
  std::atomic<void*> memory;
  std::atomic<std::size_t> bytes;
};
// Programs set streams and workspaces before every product (torch does): no lock. A handle stays among the keys when it is gone;
// those that find no place, of a program that makes thousands, are behind the lock.
Table<HandleKey, KnownSpace, 1024> spaces;
auto& other_spaces() {
  static auto& found = *new std::map<Handle, Space>;
  return found;
}

void keep(Handle handle, Space space) {
  if (KnownSpace* own = spaces.at({handle})) {
    own->memory.store(space.memory, std::memory_order_relaxed);
    own->bytes.store(space.bytes, std::memory_order_relaxed);
    return;
  }
  const ForkLock::Guard hold(lock);
  if (space.memory) {
    other_spaces()[handle] = space;
  } else {
    other_spaces().erase(handle);
  }
}

template <class Function>
void find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(symbol_of(library, name));
}

Functions find_functions(void* library) {
  Functions found{};
  found.library = library;
  find(library, "cublasGetStream_v2", &found.get_stream);
  find(library, "cublasGetPointerMode_v2", &found.get_pointer_mode);
  find(library, "cublasGetVersion_v2", &found.get_version);
  find(library, "cublasCreate_v2", &found.create);
  find(library, "cublasSetStream_v2", &found.set_stream);
  const char* const names[] = {"cublasSgemm_v2_64", "cublasDgemm_v2_64", "cublasCgemm_v2_64", "cublasZgemm_v2_64"};
  for (int type = 0; type < type_count; ++type) found.gemm[type] = symbol_of(library, names[type]);
  return found;
}

}  // namespace

// As in symbols/real.cpp, no lock is held while the dynamic linker is asked.
const Functions& functions_of(void* library) {
  static auto& known = *new std::map<void*, Functions>;
  static thread_local const Functions* last __attribute__((tls_model("initial-exec"))) = nullptr;
  if (last && last->library == library) return *last;
  {
    const ForkLock::Guard hold(lock);
    const auto there = known.find(library);
    if (there != known.end()) return *(last = &there->second);
  }
  const Functions found = find_functions(library);
  const ForkLock::Guard hold(lock);
  return *(last = &known.try_emplace(library, found).first->second);
}

Space own_workspace(Handle handle) {
  if (const KnownSpace* own = spaces.at({handle})) {
    return {own->memory.load(std::memory_order_relaxed), own->bytes.load(std::memory_order_relaxed)};
  }
  const ForkLock::Guard hold(lock);
  const auto found = other_spaces().find(handle);
  return found == other_spaces().end() ? Space{} : found->second;
}

}  // namespace ozfp4::interpose::cublas

using namespace ozfp4::interpose;  // of the definitions below alone
using namespace ozfp4::interpose::cublas;

#define OZFP4_EXPORT extern "C" __attribute__((visibility("default")))

// As they are, and what they say of workspaces is kept.
OZFP4_EXPORT Status cublasSetWorkspace_v2(Handle handle, void* workspace, std::size_t bytes) {
  const Real& real = real_routine(Routine::cublasSetWorkspace_v2, __builtin_return_address(0));
  const Status status = reinterpret_cast<Status (*)(Handle, void*, std::size_t)>(real.address)(handle, workspace, bytes);
  if (status == success && bypass_depth == 0) keep(handle, {workspace, bytes});
  return status;
}

OZFP4_EXPORT Status cublasSetStream_v2(Handle handle, Stream stream) {
  const Real& real = real_routine(Routine::cublasSetStream_v2, __builtin_return_address(0));
  const Status status = reinterpret_cast<Status (*)(Handle, Stream)>(real.address)(handle, stream);
  if (status == success && bypass_depth == 0) keep(handle, {});
  return status;
}

OZFP4_EXPORT Status cublasDestroy_v2(Handle handle) {
  const Real& real = real_routine(Routine::cublasDestroy_v2, __builtin_return_address(0));
  if (bypass_depth == 0) keep(handle, {});
  return reinterpret_cast<Status (*)(Handle)>(real.address)(handle);
}
