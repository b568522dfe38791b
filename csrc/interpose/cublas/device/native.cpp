#include "interpose/cublas/device/native.hpp"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "interpose/call/bypass.hpp"
#include "interpose/cublas/device/device.hpp"
#include "interpose/cublas/handle.hpp"
#include "interpose/process/fork.hpp"

namespace ozfp4::interpose::cublas {
namespace {

using Gemm = Status (*)(Handle, int, int, std::int64_t, std::int64_t, std::int64_t, const void*, const void*, std::int64_t,
                        const void*, std::int64_t, const void*, void*, std::int64_t);

ForkLock lock;
auto& free_handles() {
  static auto& found = *new std::map<std::pair<void*, std::uint64_t>, std::vector<Handle>>;
  return found;
}

// A handle for the context that is current, which nobody else has meanwhile, as cuBLAS may be asked from no two threads at once.
// Handles stay as long as the process, for whoever comes next: there are as many as threads were at it at once.
class OwnHandle {
 public:
  explicit OwnHandle(const Functions& of);
  ~OwnHandle();
  OwnHandle(const OwnHandle&) = delete;
  OwnHandle& operator=(const OwnHandle&) = delete;
  Handle get() const { return handle_; }  // null: there is none

 private:
  std::pair<void*, std::uint64_t> key_;  // a library, a context
  Handle handle_ = nullptr;
};

OwnHandle::OwnHandle(const Functions& of) : key_(of.library, current_context()) {
  {
    const ForkLock::Guard hold(lock);
    std::vector<Handle>& free = free_handles()[key_];
    if (!free.empty()) handle_ = free.back(), free.pop_back();
  }
  const BesideCaptures beside;
  if (!handle_ && (!of.create || of.create(&handle_) != success)) handle_ = nullptr;
}

OwnHandle::~OwnHandle() {
  if (!handle_) return;
  const ForkLock::Guard hold(lock);
  free_handles()[key_].push_back(handle_);
}

Status call_gemm(const Functions& of, Handle handle, const Product& p) {
  return reinterpret_cast<Gemm>(of.gemm[static_cast<int>(p.type)])(handle, op_of(p.transpose_a), op_of(p.transpose_b), p.m, p.n,
                                                                   p.k, p.alpha, p.a, p.lda, p.b, p.ldb, p.beta, p.c, p.ldc);
}

}  // namespace

bool native_on_device(void* cublas, const Product& product, Stream stream) {
  const Bypass bypass;
  const Functions& of = functions_of(cublas);
  if (!of.gemm[static_cast<int>(product.type)] || !of.set_stream) return false;
  const OwnHandle handle(of);
  return handle.get() && of.set_stream(handle.get(), stream) == success && call_gemm(of, handle.get(), product) == success;
}

}  // namespace ozfp4::interpose::cublas
