// What a call costs the host that `ozfp4 exec` leaves to cuBLAS, launches and all.
//
//   g++ -O2 -std=c++17 benchmarks/exec_left.cpp -o exec_left -I$CUDA/include -L$CUDA/lib64 -lcublas -lcudart -ldl
//   python -m ozfp4 exec -- ./exec_left
//
// Microseconds a call by the name, before which exec stands, and by the address in libcublas, in turns in one process: medians of
// bursts of 50 calls that the stream takes without waiting, and the median of what the first took longer than the second beside
// it. "as torch": the stream and the workspace of the handle are set before each product. exec_host.py is without launches.
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

void require(bool is_good, const char* what) {
  if (is_good) return;
  std::fprintf(stderr, "%s failed\n", what);
  std::exit(1);
}

constexpr int kBursts = 401, kCalls = 50;

template <class Call>
double microseconds(const Call& call) {
  require(cudaDeviceSynchronize() == cudaSuccess, "cudaDeviceSynchronize");
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kCalls; ++i) require(call() == CUBLAS_STATUS_SUCCESS, "a call");
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / kCalls;
}

double median(std::vector<double> of) {
  std::nth_element(of.begin(), of.begin() + of.size() / 2, of.end());
  return of[of.size() / 2];
}

template <class ByName, class ByAddress>
void compare(const char* what, int n, const ByName& by_name, const ByAddress& by_address) {
  std::vector<double> named, own, more;
  for (int burst = 0; burst < kBursts; ++burst) {
    const bool is_named_first = burst % 2 == 0;
    const double first = is_named_first ? microseconds(by_name) : microseconds(by_address);
    const double second = is_named_first ? microseconds(by_address) : microseconds(by_name);
    named.push_back(is_named_first ? first : second), own.push_back(is_named_first ? second : first);
    more.push_back(named.back() - own.back());
  }
  std::printf("%-24s N = %4d: by name %6.2f us, by address %6.2f us, %5.2f more\n", what, n, median(named), median(own),
              median(more));
}

template <class Function>
Function* own_of(void* library, const char* name, Function*) {
  void* const found = dlsym(library, name);
  require(found != nullptr, name);
  return reinterpret_cast<Function*>(found);
}

}  // namespace

int main() {
  void* const library = dlopen("libcublas.so.13", RTLD_LAZY);
  require(library != nullptr, "dlopen of libcublas.so.13");
  const auto own_sgemm = own_of(library, "cublasSgemm_v2", &cublasSgemm);
  const auto own_dgemm = own_of(library, "cublasDgemm_v2", &cublasDgemm);
  const auto own_stream = own_of(library, "cublasSetStream_v2", &cublasSetStream);
  const auto own_workspace = own_of(library, "cublasSetWorkspace_v2", &cublasSetWorkspace);
  cublasHandle_t handle;
  require(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS, "cublasCreate");
  constexpr std::size_t space_bytes = 32 << 20;
  void* space;
  require(cudaMalloc(&space, space_bytes) == cudaSuccess, "cudaMalloc");
  const float one_single = 1, zero_single = 0;
  const double one = 1, zero = 0;
  constexpr cublasOperation_t plain = CUBLAS_OP_N;
  for (const int n : {64, 256, 1024}) {
    double* memory;
    const std::size_t entries = static_cast<std::size_t>(n) * n;
    require(cudaMalloc(&memory, 3 * entries * sizeof(double)) == cudaSuccess, "cudaMalloc");
    require(cudaMemset(memory, 0, 3 * entries * sizeof(double)) == cudaSuccess, "cudaMemset");
    const double *a = memory, *b = memory + entries;
    double* c = memory + 2 * entries;
    const auto *a_single = reinterpret_cast<const float*>(a), *b_single = reinterpret_cast<const float*>(b);
    auto* c_single = reinterpret_cast<float*>(c);
    const auto single = [&](auto* sgemm) {
      return [&, sgemm] {
        return sgemm(handle, plain, plain, n, n, n, &one_single, a_single, n, b_single, n, &zero_single, c_single, n);
      };
    };
    const auto real = [&](auto* dgemm) {
      return [&, dgemm] { return dgemm(handle, plain, plain, n, n, n, &one, a, n, b, n, &zero, c, n); };
    };
    const auto as_torch = [&](auto* set_stream, auto* set_workspace, auto* dgemm) {
      return [&, set_stream, set_workspace, product = real(dgemm)] {
        require(set_stream(handle, nullptr) == CUBLAS_STATUS_SUCCESS, "cublasSetStream");
        require(set_workspace(handle, space, space_bytes) == CUBLAS_STATUS_SUCCESS, "cublasSetWorkspace");
        return product();
      };
    };
    compare("cublasSgemm", n, single(&cublasSgemm), single(own_sgemm));
    compare("cublasDgemm", n, real(&cublasDgemm), real(own_dgemm));
    compare("cublasDgemm, as torch", n, as_torch(&cublasSetStream, &cublasSetWorkspace, &cublasDgemm),
            as_torch(own_stream, own_workspace, own_dgemm));
    cudaFree(memory);
  }
  cublasDestroy(handle);
  cudaFree(space);
  return 0;
}
