// Stands in for libcublas.so.13, with the host's memory as the device's.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "naive.hpp"

namespace {
struct Handle {
  void* stream = nullptr;
  int pointer_mode = 0;
};
std::atomic<long> made{0};

void take_time() {
  if (const char* slow = std::getenv("FAKE_SLOW")) usleep(static_cast<unsigned>(std::atoi(slow)));
}

// Whether the thread may do what a capture forbids, which is ozfp4's alone.
bool has_other_mode() {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  return driver && reinterpret_cast<int (*)()>(dlsym(driver, "fake_mode"))() != 0;
}

template <class T>
int gemm(int transa, int transb, std::int64_t m, std::int64_t n, std::int64_t k, const void* alpha, const void* a,
         std::int64_t lda, const void* b, std::int64_t ldb, const void* beta, void* c, std::int64_t ldc) {
  ++made;
  take_time();
  if (has_other_mode()) return 14;
  if (std::getenv("FAKE_IDLE")) return 0;  // C stays as it is
  if (lda < (transa ? k : m)) return 7;
  multiply(transa, transb, m, n, k, *static_cast<const T*>(alpha), static_cast<const T*>(a), lda, static_cast<const T*>(b), ldb,
           *static_cast<const T*>(beta), static_cast<T*>(c), ldc);
  return 0;
}

int gemm_of(int type, int transa, int transb, std::int64_t m, std::int64_t n, std::int64_t k, const void* alpha, const void* a,
            std::int64_t lda, const void* b, std::int64_t ldb, const void* beta, void* c, std::int64_t ldc) {
  const auto function = type == 0   ? gemm<float>
                        : type == 1 ? gemm<double>
                        : type == 4 ? gemm<std::complex<float>>
                        : type == 5 ? gemm<std::complex<double>>
                                    : nullptr;
  return function ? function(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc) : 15;
}

template <class T>
const void* at(const void* matrix, std::int64_t entries) {
  return static_cast<const T*>(matrix) + entries;
}
template <class T>
void* at(void* matrix, std::int64_t entries) {
  return static_cast<T*>(matrix) + entries;
}

// In the pointer mode of the device only cuBLAS may read a factor: this bit makes the test's addresses invalid elsewhere.
const void* factor_at(const Handle* handle, const void* address) {
  const auto bit = std::uintptr_t(handle->pointer_mode) << 62;
  return reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(address) & ~bit);
}
}  // namespace

extern "C" {
long fake_made() { return made; }
int cublasCreate_v2(Handle** handle) { return *handle = new Handle, 0; }
int cublasSetStream_v2(Handle* handle, void* stream) { return handle->stream = stream, 0; }
int cublasGetStream_v2(Handle* handle, void** stream) { return *stream = handle->stream, 0; }
int cublasSetPointerMode_v2(Handle* handle, int mode) { return handle->pointer_mode = mode, 0; }
int cublasGetPointerMode_v2(Handle* handle, int* mode) { return *mode = handle->pointer_mode, 0; }
int cublasGetVersion_v2(Handle*, int* version) {
  const char* given = std::getenv("FAKE_VERSION");
  return *version = given ? std::atoi(given) : 130101, 0;
}

#define GEMMS(P, T, Int, suffix, suffix_64)                                                                                    \
  int cublas##P##gemm##suffix(Handle* handle, int ta, int tb, Int m, Int n, Int k, const void* alpha, const void* a, Int lda,  \
                              const void* b, Int ldb, const void* beta, void* c, Int ldc) {                                    \
    return gemm<T>(ta, tb, m, n, k, factor_at(handle, alpha), a, lda, b, ldb, factor_at(handle, beta), c, ldc);                \
  }                                                                                                                            \
  int cublas##P##gemmStridedBatched##suffix_64(Handle*, int ta, int tb, Int m, Int n, Int k, const void* alpha, const void* a, \
                                               Int lda, long long sa, const void* b, Int ldb, long long sb, const void* beta,  \
                                               void* c, Int ldc, long long sc, Int batch) {                                    \
    for (Int i = 0; i < batch; ++i) {                                                                                          \
      gemm<T>(ta, tb, m, n, k, alpha, at<T>(a, i * sa), lda, at<T>(b, i * sb), ldb, beta, at<T>(c, i * sc), ldc);              \
    }                                                                                                                          \
    return 0;                                                                                                                  \
  }
#define BOTH(P, T) GEMMS(P, T, int, _v2, ) GEMMS(P, T, std::int64_t, _v2_64, _64)
BOTH(S, float)
BOTH(D, double)
BOTH(C, std::complex<float>)
BOTH(Z, std::complex<double>)

int cublasGemmEx(Handle*, int ta, int tb, int m, int n, int k, const void* alpha, const void* a, int type_a, int lda,
                 const void* b, int, int ldb, const void* beta, void* c, int, int ldc, int, int) {
  return gemm_of(type_a, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
int cublasGemmStridedBatchedEx_64(Handle*, int ta, int tb, std::int64_t m, std::int64_t n, std::int64_t k, const void* alpha,
                                  const void* a, int type_a, std::int64_t lda, long long sa, const void* b, int, std::int64_t ldb,
                                  long long sb, const void* beta, void* c, int, std::int64_t ldc, long long sc,
                                  std::int64_t batch, int, int) {
  for (std::int64_t i = 0; i < batch; ++i) {
    gemm_of(type_a, ta, tb, m, n, k, alpha, at<double>(a, i * sa), lda, at<double>(b, i * sb), ldb, beta, at<double>(c, i * sc),
            ldc);
  }
  return 0;
}
}
