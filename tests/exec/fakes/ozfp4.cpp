// Stands in for a libozfp4 with CUDA. Uses all of its workspace.
#include "ozfp4.h"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "naive.hpp"

namespace {
std::atomic<long> served{0}, broken{0};
std::atomic<void*> full{nullptr};
std::atomic<int> waiting{0};

// Whether a graph is captured on any stream, as the driver has it.
bool is_captured() {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  const auto ask = driver ? reinterpret_cast<int (*)(void*, int*)>(dlsym(driver, "cuStreamIsCapturing")) : nullptr;
  int status = 0;
  return ask && ask(nullptr, &status) == 0 && status != 0;
}

template <class T>
T at(const void* factor) {
  return *static_cast<const T*>(factor);
}

int op(int transpose) { return transpose - OZFP4_NO_TRANS; }

// More where C is turned, and where A B is kept for a factor that has both parts; and where A is not aligned.
template <class T>
std::int64_t bytes_of(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, T beta, const void* a, std::int64_t batch) {
  const auto has_both = [](T x) { return std::real(x) != 0 && std::imag(x) != 0; };
  const std::int64_t times = has_both(alpha) || has_both(beta) ? 64 : std::imag(beta) != 0 ? 16 : 0;
  const std::int64_t more = reinterpret_cast<std::uintptr_t>(a) % 16 != 0 ? 1000 : 0;
  return 256 + batch * (m * k + k * n + m * n + times * m * n) + more;
}

// A batch of products, all of which are made or none.
template <class T>
ozfp4_status run(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, T alpha, const void* a, int64_t lda,
                 int64_t stride_a, const void* b, int64_t ldb, int64_t stride_b, T beta, void* c, int64_t ldc, int64_t stride_c,
                 int64_t batch, void* workspace, int64_t bytes, const ozfp4_options* options) {
  if (std::getenv("FAKE_REFUSAL")) return OZFP4_UNSUPPORTED;
  if (reinterpret_cast<std::uintptr_t>(workspace) % 256 != 0) return OZFP4_WORKSPACE;
  if (bytes < bytes_of(m, n, k, alpha, beta, a, batch)) return OZFP4_WORKSPACE;
  if (options->accuracy != OZFP4_ACCURACY_STANDARD || order != OZFP4_COL_MAJOR) return OZFP4_INVALID_ARGUMENT;
  std::memset(workspace, 0x5a, static_cast<std::size_t>(bytes));
  const auto *of_a = static_cast<const T*>(a), *of_b = static_cast<const T*>(b);
  auto* of_c = static_cast<T*>(c);
  const char* refused = std::getenv("FAKE_REFUSED");  // matrices B that begin with this number
  for (int64_t i = 0; i < batch && refused; ++i) {
    if (of_b[i * stride_b] == T(std::atoi(refused))) return OZFP4_UNSUPPORTED;
  }
  for (int64_t i = 0; i < batch && !std::getenv("FAKE_IDLE"); ++i) {  // else C stays as it is
    multiply(op(transa), op(transb), m, n, k, alpha, of_a + i * stride_a, lda, of_b + i * stride_b, ldb, beta,
             of_c + i * stride_c, ldc);
  }
  // So many repairs where the first one of B is not 0.
  const char* repairs = std::getenv("FAKE_REPAIRS");
  if (options->repaired != nullptr) *options->repaired = repairs && *of_b != T(0) ? std::atol(repairs) : 0;
  if (std::getenv("FAKE_WRONG")) *of_c += T(1e6);
  ++served;
  return OZFP4_OK;
}
}  // namespace

extern "C" {
OZFP4_API long fake_served() { return served; }
OZFP4_API void fake_fill(void* stream) { full = stream; }  // launches there wait until another one is full; null: none is
OZFP4_API int fake_waiting_launches() { return waiting; }
OZFP4_API long fake_broken() { return broken; }  // captures that a trial of kernels has broken
int ozfp4_has_cuda(void) { return 1; }
const char* ozfp4_last_error(void) { return "a refusal of the stand-in"; }
ozfp4_status ozfp4_cuda_workspace_size_gemm_strided_batched(ozfp4_type type, int, int, int, int64_t m, int64_t n, int64_t k,
                                                            const void* alpha, const void* a, int64_t, int64_t, const void*,
                                                            int64_t, int64_t, const void* beta, const void*, int64_t, int64_t,
                                                            int64_t batch, const ozfp4_options*, int64_t* bytes) {
  if (is_captured()) return ++broken, OZFP4_DEVICE_ERROR;
  if (void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD)) {  // kernels are tried
    reinterpret_cast<int (*)()>(dlsym(driver, "fake_trial"))();
  }
  const auto of = [&](auto x) { return bytes_of(m, n, k, at<decltype(x)>(alpha), at<decltype(x)>(beta), a, batch); };
  switch (type) {
    case OZFP4_FLOAT32: return *bytes = of(float()), OZFP4_OK;
    case OZFP4_FLOAT64: return *bytes = of(double()), OZFP4_OK;
    case OZFP4_COMPLEX64: return *bytes = of(std::complex<float>()), OZFP4_OK;
    default: return *bytes = of(std::complex<double>()), OZFP4_OK;
  }
}
#define GEMM(letter, T, Factor, Entry, value)                                                                                \
  ozfp4_status ozfp4_cuda_##letter##gemm_strided_batched(                                                                    \
      int order, int transa, int transb, int64_t m, int64_t n, int64_t k, Factor alpha, const T* a, int64_t lda, int64_t sa, \
      const T* b, int64_t ldb, int64_t sb, Factor beta, T* c, int64_t ldc, int64_t sc, int64_t batch, void* workspace,       \
      int64_t bytes, void* stream, const ozfp4_options* options) {                                                           \
    for (++waiting; stream != nullptr && full == stream;) usleep(100);                                                       \
    --waiting;                                                                                                               \
    return run<Entry>(order, transa, transb, m, n, k, value(alpha), a, lda, sa, b, ldb, sb, value(beta), c, ldc, sc, batch,  \
                      workspace, bytes, options);                                                                            \
  }
#define SAME(x) x
#define AT_Z(x) *static_cast<const std::complex<double>*>(x)
#define AT_C(x) *static_cast<const std::complex<float>*>(x)
GEMM(s, float, float, float, SAME)
GEMM(d, double, double, double, SAME)
GEMM(c, void, const void*, std::complex<float>, AT_C)
GEMM(z, void, const void*, std::complex<double>, AT_Z)
}
