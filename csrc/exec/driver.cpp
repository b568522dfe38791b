#include "exec/driver.hpp"

#include <dlfcn.h>

#include <atomic>
#include <string>

namespace ozfp4::exec::cublas {
namespace {

// False where it is not there.
template <class Function>
bool find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

bool find_all(Driver& driver) {
  void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
#define OZFP4_FIND(name, ...) &&find(library, #name, &driver.name)
  return library != nullptr OZFP4_DRIVER(OZFP4_FIND);
#undef OZFP4_FIND
}

bool open(const std::string& file, Library& own) {
  void* library = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
#define OZFP4_FIND(name) &&find(library, #name, &own.name)
  return library != nullptr OZFP4_LIBRARY(OZFP4_FIND) && own.ozfp4_has_cuda() == 1;
#undef OZFP4_FIND
}

// The package's own kernels, else an installed libozfp4.
bool find_all(Library& own) {
  Dl_info info;
  if (!dladdr(reinterpret_cast<const void*>(&library), &info)) return false;
  const std::string file = info.dli_fname, beside = file.substr(0, file.rfind('/') + 1);
  const std::string installed = "libozfp4.so." + std::to_string(OZFP4_VERSION_MAJOR);
  return open(beside + "libozfp4_cuda.so", own) || open(beside + installed, own) || open(installed, own);
}

// Not a static that is made once: others would wait for it during a call of the dynamic linker, while they may hold the linker's
// lock. If several threads are here at once the first one's is kept, and the others' few bytes are lost.
template <class T>
const T* found() {
  struct Found {
    T functions;
    bool has_all = false;
  };
  static std::atomic<const Found*> known{nullptr};
  const Found* first = known.load(std::memory_order_acquire);
  if (first == nullptr) {
    auto* made = new Found;
    made->has_all = find_all(made->functions);
    if (known.compare_exchange_strong(first, made, std::memory_order_acq_rel)) first = made;
  }
  return first->has_all ? &first->functions : nullptr;
}

}  // namespace

const Driver* driver() { return found<Driver>(); }
const Library* library() { return found<Library>(); }

}  // namespace ozfp4::exec::cublas
