#include "cpu/blas/blas_library.hpp"

#include "cpu/blas/blas_check.hpp"
#include "cpu/environment.hpp"

#if defined(__unix__) || defined(__APPLE__)
#include <dlfcn.h>
#endif

namespace ozfp4 {

const char* asked_blas() {
  const std::string& file = environment().blas;
  return file.empty() ? nullptr : file.c_str();
}

#if defined(__unix__) || defined(__APPLE__)

// Of the process's own symbols nothing is taken: a BLAS that stands before another one (LD_PRELOAD) may be a program's use of
// this library.
LibraryBlas open_blas(const char* file) {
  LibraryBlas found;
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* error = dlerror();
    found.error = error != nullptr ? error : std::string(file) + ": cannot be opened";
    return found;
  }
  found.is_there = true;
  for (const char* suffix : {"_", "_64_", ""}) {
    const auto dgemm = reinterpret_cast<DgemmPointer>(dlsym(library, (std::string("dgemm") + suffix).c_str()));
    const auto sgemm = reinterpret_cast<SgemmPointer>(dlsym(library, (std::string("sgemm") + suffix).c_str()));
    if (dgemm == nullptr || sgemm == nullptr) continue;
    const std::string wrong = wrong_gemm(dgemm, sgemm);
    if (!wrong.empty()) {
      found.error = std::string(file) + ": " + wrong;
    } else {
      found.dgemm = dgemm, found.sgemm = sgemm;
    }
    return found;
  }
  dlclose(library);
  found.error = std::string(file) + ": has neither dgemm_ and sgemm_ nor dgemm_64_ and sgemm_64_";
  return found;
}

#else

LibraryBlas open_blas(const char* file) {
  return {nullptr, nullptr, false, std::string(file) + ": this system opens no libraries by name"};
}

#endif

}  // namespace ozfp4
