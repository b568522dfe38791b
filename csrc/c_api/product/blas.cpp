#include "c_api/product/blas.hpp"

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string>

#include "c_api/checked/status.hpp"
#include "cpu/blas/blas.hpp"
#include "cpu/blas/blas_check.hpp"
#include "cpu/threading/child_lock.hpp"

namespace ozfp4::c_api {
namespace {

constexpr const char* kVariable = "OZFP4_BLAS";
// The fast ones first. A process that holds one of these already gets that very one.
constexpr std::array<const char*, 9> kLibraries{"libopenblas.so.0",  "libopenblas.so", "libmkl_rt.so.2",
                                                "libmkl_rt.so",      "libblis.so.4",   "libblis.so",
                                                "libflexiblas.so.3", "libblas.so.3",   "libblas.so"};

ChildLock lock;
std::atomic<bool> is_ready{false};
std::atomic<const char*> name{""};

// A name that lives as long as the process, as pointers to it are given away: one that is used again is not copied again. What
// is in the list stays as it is, so that it is whole in a child.
const char* kept(const std::string& text) {
  struct Node {
    std::string text;
    const Node* next;
  };
  static std::atomic<const Node*> first{nullptr};
  for (const Node* each = first; each != nullptr; each = each->next) {
    if (each->text == text) return each->text.c_str();
  }
  const Node* made = new Node{text, first};
  first = made;
  return made->text.c_str();
}

// Empty where these are exact, and taken.
std::string use(DgemmPointer dgemm, SgemmPointer sgemm, const std::string& from) {
  const std::string wrong = wrong_gemm(dgemm, sgemm);
  if (!wrong.empty()) return from + ": " + wrong;
  set_blas(dgemm, sgemm);
  name = kept(from);
  is_ready.store(true, std::memory_order_release);
  return "";
}

struct Trial {
  bool serves = false, is_there = false;
  std::string error;
};

// Of the process's own symbols nothing is taken: a BLAS that stands before another one (LD_PRELOAD) may be a program's use of
// this library. One that was called stays loaded: it may have threads.
Trial try_library(const char* file) {
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* error = dlerror();
    return {false, false, error != nullptr ? error : std::string(file) + ": cannot be opened"};
  }
  for (const char* suffix : {"_", "_64_", ""}) {
    const auto dgemm = reinterpret_cast<DgemmPointer>(dlsym(library, (std::string("dgemm") + suffix).c_str()));
    const auto sgemm = reinterpret_cast<SgemmPointer>(dlsym(library, (std::string("sgemm") + suffix).c_str()));
    if (dgemm == nullptr || sgemm == nullptr) continue;
    const std::string wrong = use(dgemm, sgemm, file);
    return {wrong.empty(), true, wrong};
  }
  dlclose(library);
  return {false, true, std::string(file) + ": has neither dgemm_ and sgemm_ nor dgemm_64_ and sgemm_64_"};
}

void find_library() {
  const char* asked = std::getenv(kVariable);
  if (asked != nullptr && *asked != '\0') {
    const Trial trial = try_library(asked);
    if (!trial.serves) refuse(OZFP4_NO_BLAS, std::string(kVariable) + ": " + trial.error);
    return;
  }
  std::string names, wrong;
  for (const char* file : kLibraries) {
    const Trial trial = try_library(file);
    if (trial.serves) return;
    names += std::string(names.empty() ? "" : ", ") + file;
    if (trial.is_there) wrong += "; " + trial.error;
  }
  refuse(OZFP4_NO_BLAS, std::string(kVariable) + ": is not set, and there is none of " + names + " that serves" + wrong +
                            "; install one, name its file there, or call ozfp4_set_blas");
}

}  // namespace

void require_blas() {
  if (is_ready.load(std::memory_order_acquire)) return;
  const std::lock_guard<ChildLock> alone(lock);
  if (!is_ready.load(std::memory_order_acquire)) find_library();
}

void take_blas(ozfp4_blas_function dgemm, ozfp4_blas_function sgemm) {
  if ((dgemm == nullptr) != (sgemm == nullptr)) {
    refuse(std::string(dgemm == nullptr ? "dgemm" : "sgemm") + ": is NULL, and the other is not");
  }
  const std::lock_guard<ChildLock> alone(lock);
  if (dgemm == nullptr) {
    is_ready.store(false, std::memory_order_release);
    return;
  }
  const std::string wrong = use(reinterpret_cast<DgemmPointer>(dgemm), reinterpret_cast<SgemmPointer>(sgemm), "ozfp4_set_blas");
  if (!wrong.empty()) refuse(OZFP4_NO_BLAS, "dgemm, sgemm: " + wrong);
}

const char* blas_name() { return name; }

}  // namespace ozfp4::c_api
