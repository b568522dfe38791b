// Calls of BLAS and cuBLAS against libraries that return at once (stand_ins.cpp). Prints a line for each kind of call. It has the
// name, the least and the median nanoseconds of a call in a burst, and the median after reads that fill a core's caches with
// other data. The last number counts the products of the stand-in of ozfp4. exec_host.py runs it.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

extern "C" {
void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*, const double*,
            const int*, const double*, double*, const int*, std::size_t, std::size_t);
void cblas_dgemm(int, int, int, int, int, int, double, const double*, int, const double*, int, double, double*, int);
int cublasCreate_v2(void**);
int cublasSetStream_v2(void*, void*);
int cublasSetWorkspace_v2(void*, void*, std::size_t);
int cublasSgemm_v2(void*, int, int, int, int, int, const float*, const float*, int, const float*, int, const float*, float*, int);
int cublasDgemm_v2(void*, int, int, int, int, int, const double*, const double*, int, const double*, int, const double*, double*,
                   int);
int cublasDgemmStridedBatched(void*, int, int, int, int, int, const double*, const double*, int, long long, const double*, int,
                              long long, const double*, double*, int, long long, int);
int cublasGemmEx(void*, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int, const void*, void*,
                 int, int, int, int);
long stand_in_served();
}

namespace {

constexpr int bursts = 401, calls = 500;

template <class Call>
double nanoseconds(int count, const Call& call) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) call();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / count;
}

void read_else() {
  static std::vector<char> memory(4 << 20, 1);
  static volatile int sum;
  for (std::size_t i = 0; i < memory.size(); i += 64) sum = sum + memory[i];
}

template <class Call>
void measure(const char* name, const Call& call) {
  std::vector<double> warm, cold;
  for (int i = 0; i < 5000; ++i) call();  // all that is made once
  const long before = stand_in_served();
  for (int burst = 0; burst < bursts; ++burst) warm.push_back(nanoseconds(calls, call));
  for (int burst = 0; burst < bursts; ++burst) {
    read_else();
    cold.push_back(nanoseconds(1, call));
  }
  for (std::vector<double>* all : {&warm, &cold}) std::sort(all->begin(), all->end());
  std::printf("%s\t%.1f\t%.1f\t%.1f\t%ld\n", name, warm.front(), warm[bursts / 2], cold[bursts / 2], stand_in_served() - before);
}

}  // namespace

int main() {
  void* handle;
  if (cublasCreate_v2(&handle) != 0) return 1;
  static double space[64];
  const double one = 1, zero = 0;
  const float one_single = 1, zero_single = 0;
  double *const a = space, *const c = space + 32;
  float *const a_single = reinterpret_cast<float*>(a), *const c_single = reinterpret_cast<float*>(c);
  const int small = 64, eight = 8;
  measure("cublasSgemm 64", [&] {
    cublasSgemm_v2(handle, 0, 0, small, small, small, &one_single, a_single, small, a_single, small, &zero_single, c_single,
                   small);
  });
  const auto gemm = [&](const char* name, int n) {
    measure(name, [&] { cublasDgemm_v2(handle, 0, 0, n, n, n, &one, a, n, a, n, &zero, c, n); });
  };
  gemm("cublasDgemm 64", small), gemm("cublasDgemm 2048", 2048), gemm("cublasDgemm 4096", 4096);
  // As torch does; exec comes before all three.
  measure("stream, workspace, cublasDgemm 64", [&] {
    cublasSetStream_v2(handle, nullptr);
    cublasSetWorkspace_v2(handle, space, 0);
    cublasDgemm_v2(handle, 0, 0, small, small, small, &one, a, small, a, small, &zero, c, small);
  });
  measure("cublasDgemmStridedBatched 64, 8 of them", [&] {
    cublasDgemmStridedBatched(handle, 0, 0, small, small, small, &one, a, small, 4096, a, small, 4096, &zero, c, small, 4096, 8);
  });
  measure("cublasGemmEx 64 of FP32", [&] {
    cublasGemmEx(handle, 0, 0, small, small, small, &one_single, a, 0, small, a, 0, small, &zero_single, c, 0, small, 68, -1);
  });
  measure("cublasGemmEx 64 of FP16", [&] {
    cublasGemmEx(handle, 0, 0, small, small, small, &one_single, a, 2, small, a, 2, small, &zero_single, c, 2, small, 68, -1);
  });
  measure("cublasGemmEx 64 of FP64",
          [&] { cublasGemmEx(handle, 0, 0, small, small, small, &one, a, 1, small, a, 1, small, &zero, c, 1, small, 70, -1); });
  measure("dgemm_ 8", [&] { dgemm_("N", "N", &eight, &eight, &eight, &one, a, &eight, a, &eight, &zero, c, &eight, 1, 1); });
  measure("cblas_dgemm 8", [&] { cblas_dgemm(102, 111, 111, eight, eight, eight, 1, a, eight, a, eight, 0, c, eight); });
  return 0;
}
