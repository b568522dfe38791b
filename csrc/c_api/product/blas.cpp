#include "c_api/product/blas.hpp"

#include <array>
#include <atomic>
#include <mutex>
#include <string>

#include "c_api/checked/status.hpp"
#include "cpu/blas/blas.hpp"
#include "cpu/blas/blas_check.hpp"
#include "cpu/blas/blas_library.hpp"
#include "cpu/threading/child_lock.hpp"

namespace ozfp4::c_api {
namespace {

// The fast ones first. A process that holds one of these already gets that very one.
constexpr std::array<const char*, 9> kLibraries{"libopenblas.so.0",  "libopenblas.so", "libmkl_rt.so.2",
                                                "libmkl_rt.so",      "libblis.so.4",   "libblis.so",
                                                "libflexiblas.so.3", "libblas.so.3",   "libblas.so"};

ChildLock lock;
std::atomic<bool> is_ready{false};
std::atomic<const char*> library{""};

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

// What is exact, and where it comes from. Found without the lock: the dynamic linker is asked, whose own lock somebody may hold
// who waits for ours, as a library's constructor that multiplies.
struct Found {
  DgemmPointer dgemm = nullptr;
  SgemmPointer sgemm = nullptr;
  BlasSetters setters;
  std::string from, error;
};

Found exact(DgemmPointer dgemm, SgemmPointer sgemm, const std::string& from) {
  return {dgemm, sgemm, find_blas_setters(reinterpret_cast<const void*>(dgemm)), from, ""};
}

Found none(const std::string& error) { return {nullptr, nullptr, {}, "", error}; }

// Range: the lock is held.
void use(const Found& found) {
  set_blas(found.dgemm, found.sgemm, found.setters);
  library = kept(found.from);
  is_ready.store(true, std::memory_order_release);
}

constexpr const char* kWithout = "; OZFP4_CPU_KERNEL=portable makes products without one, but for OZFP4_BACKEND_FP64";

Found find_library() {
  if (const char* asked = asked_blas()) {
    const LibraryBlas found = open_blas(asked);
    if (found.dgemm == nullptr) return none(std::string(kBlasVariable) + ": " + found.error + kWithout);
    return exact(found.dgemm, found.sgemm, asked);
  }
  std::string names, wrong;
  for (const char* file : kLibraries) {
    const LibraryBlas found = open_blas(file);
    if (found.dgemm != nullptr) return exact(found.dgemm, found.sgemm, file);
    names += std::string(names.empty() ? "" : ", ") + file;
    if (found.is_there) wrong += "; " + found.error;
  }
  return none(std::string(kBlasVariable) + ": is not set, and there is none of " + names +
              " that serves; install one, name its file there, or call ozfp4_set_blas" + kWithout + wrong);
}

Found check(ozfp4_blas_function dgemm, ozfp4_blas_function sgemm) {
  const auto own_dgemm = reinterpret_cast<DgemmPointer>(dgemm);
  const auto own_sgemm = reinterpret_cast<SgemmPointer>(sgemm);
  const std::string wrong = wrong_gemm(own_dgemm, own_sgemm);
  return wrong.empty() ? exact(own_dgemm, own_sgemm, "ozfp4_set_blas") : none("dgemm, sgemm: ozfp4_set_blas: " + wrong);
}

// Uses it unless another thread was first.
void use_if_none(const Found& found) {
  const std::lock_guard<ChildLock> alone(lock);
  if (is_ready.load(std::memory_order_acquire)) return;
  if (found.dgemm == nullptr) refuse(OZFP4_NO_BLAS, found.error);
  use(found);
}

}  // namespace

void require_blas() {
  if (!is_ready.load(std::memory_order_acquire)) use_if_none(find_library());
}

bool has_blas() { return is_ready.load(std::memory_order_acquire); }

bool finds_blas() {
  if (has_blas()) return true;
  const Found found = find_library();
  if (found.dgemm == nullptr) return false;
  use_if_none(found);
  return true;
}

void take_blas(ozfp4_blas_function dgemm, ozfp4_blas_function sgemm) {
  if ((dgemm == nullptr) != (sgemm == nullptr)) {
    refuse(std::string(dgemm == nullptr ? "dgemm" : "sgemm") + ": is NULL, and the other is not");
  }
  if (dgemm == nullptr) {
    const std::lock_guard<ChildLock> alone(lock);
    is_ready.store(false, std::memory_order_release);
    return;
  }
  const Found found = check(dgemm, sgemm);
  if (found.dgemm == nullptr) refuse(OZFP4_NO_BLAS, found.error);
  const std::lock_guard<ChildLock> alone(lock);
  use(found);
}

void offer_blas(ozfp4_blas_function dgemm, ozfp4_blas_function sgemm) {
  if (!is_ready.load(std::memory_order_acquire)) use_if_none(check(dgemm, sgemm));
}

const char* blas_name() { return library; }

}  // namespace ozfp4::c_api
