#include "interpose/cublas/handle.hpp"

#include <map>

#include "interpose/call/bypass.hpp"
#include "interpose/process/fork.hpp"
#include "interpose/symbols/real.hpp"

namespace ozfp4::interpose::cublas {
namespace {

ForkLock lock;
auto& spaces() {
  static auto& found = *new std::map<Handle, Space>;
  return found;
}

void keep(Handle handle, Space space) {
  const ForkLock::Guard hold(lock);
  if (space.memory) {
    spaces()[handle] = space;
  } else {
    spaces().erase(handle);
  }
}

template <class Function>
void find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(symbol_of(library, name));
}

}  // namespace

const Functions& functions_of(void* library) {
  static auto& known = *new std::map<void*, Functions>;
  static thread_local const Functions* last = nullptr;
  if (last && last->library == library) return *last;
  const ForkLock::Guard hold(lock);
  const auto [place, is_new] = known.try_emplace(library);
  Functions& found = place->second;
  if (is_new) {
    found.library = library;
    find(library, "cublasGetStream_v2", &found.get_stream);
    find(library, "cublasGetPointerMode_v2", &found.get_pointer_mode);
    find(library, "cublasGetVersion_v2", &found.get_version);
    find(library, "cublasCreate_v2", &found.create);
    find(library, "cublasSetStream_v2", &found.set_stream);
    const char* const names[] = {"cublasSgemm_v2_64", "cublasDgemm_v2_64", "cublasCgemm_v2_64", "cublasZgemm_v2_64"};
    for (int type = 0; type < type_count; ++type) found.gemm[type] = symbol_of(library, names[type]);
  }
  last = &found;
  return found;
}

Space own_workspace(Handle handle) {
  const ForkLock::Guard hold(lock);
  const auto found = spaces().find(handle);
  return found == spaces().end() ? Space{} : found->second;
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
