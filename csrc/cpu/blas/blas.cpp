#include "cpu/blas/blas.hpp"

#include <atomic>
#include <stdexcept>

#if defined(__linux__)
#include <dlfcn.h>
#endif

namespace ozfp4 {
namespace {

DgemmPointer dgemm_pointer = nullptr;
SgemmPointer sgemm_pointer = nullptr;

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a BLAS with 32-bit integers reads the lower half of 64 bits");

// `ozfp4 exec` puts functions of ours in the place of a BLAS's (csrc/interpose), which may be what was set here. Calls from
// within a LeftAlone go through them to the BLAS: ozfp4_blas_bypass tells where they look.
using Depth = int* (*)();  // of the calling thread
std::atomic<Depth> bypass{nullptr};

// Before threads multiply: the dynamic linker has a lock, which a library's constructor that waits for these threads may hold.
// Not a static that is made once, for which others would wait meanwhile.
void find_bypass() {
#if defined(__linux__)
  static std::atomic<bool> is_known{false};
  if (is_known.load(std::memory_order_acquire)) return;
  bypass = reinterpret_cast<Depth>(dlsym(RTLD_DEFAULT, "ozfp4_blas_bypass"));
  is_known.store(true, std::memory_order_release);
#endif
}

class LeftAlone {
 public:
  LeftAlone() : depth_(bypass.load(std::memory_order_relaxed)) {
    if (depth_) ++*depth_();
  }
  ~LeftAlone() {
    if (depth_) --*depth_();
  }
  LeftAlone(const LeftAlone&) = delete;
  LeftAlone& operator=(const LeftAlone&) = delete;

 private:
  const Depth depth_;
};

// BLAS is column-major: the row-major C = A B^T is C^T = B A^T there, B and A stored as k x columns and k x rows.
template <class Real, class Pointer>
void call_gemm(Pointer gemm, std::int64_t rows, std::int64_t columns, std::int64_t k, const Real* a, std::int64_t lda,
               const Real* b, std::int64_t ldb, bool accumulate, Real* c, std::int64_t ldc) {
  if (gemm == nullptr) throw std::runtime_error("no BLAS was set");
  char transposed = 'T', plain = 'N';
  Real one = 1, beta = accumulate ? Real(1) : Real(0);
  const LeftAlone left_alone;
  const auto as_int = [](std::int64_t& x) { return reinterpret_cast<int*>(&x); };
  gemm(&transposed, &plain, as_int(columns), as_int(rows), as_int(k), &one, const_cast<Real*>(b), as_int(ldb),
       const_cast<Real*>(a), as_int(lda), &beta, c, as_int(ldc));
}

}  // namespace

void set_blas(DgemmPointer dgemm, SgemmPointer sgemm) {
  set_blas(dgemm, sgemm, find_blas_setters(reinterpret_cast<const void*>(dgemm)));
}

void set_blas(DgemmPointer dgemm, SgemmPointer sgemm, const BlasSetters& setters) {
  find_bypass();
  dgemm_pointer = dgemm;
  sgemm_pointer = sgemm;
  set_blas_setters(setters);
}

bool have_blas() { return dgemm_pointer != nullptr && sgemm_pointer != nullptr; }

void gemm_nt(SgemmPointer gemm, std::int64_t rows, std::int64_t columns, std::int64_t k, const float* a, std::int64_t lda,
             const float* b, std::int64_t ldb, bool accumulate, float* c, std::int64_t ldc) {
  find_bypass();
  call_gemm(gemm, rows, columns, k, a, lda, b, ldb, accumulate, c, ldc);
}

void gemm_nt(DgemmPointer gemm, std::int64_t rows, std::int64_t columns, std::int64_t k, const double* a, std::int64_t lda,
             const double* b, std::int64_t ldb, bool accumulate, double* c, std::int64_t ldc) {
  find_bypass();
  call_gemm(gemm, rows, columns, k, a, lda, b, ldb, accumulate, c, ldc);
}

}  // namespace ozfp4
