// What a call costs the host that `ozfp4 exec` leaves to cuBLAS: run it plain and under exec, and compare.
//
//   g++ -O2 -std=c++17 benchmarks/exec_left.cpp -o exec_left -I$CUDA/include -L$CUDA/lib64 -lcublas -lcublasLt -lcudart
//   ./exec_left; python -m ozfp4 exec -- ./exec_left
//
// Microseconds a call of FP32 products, which nobody asked exec for: medians of bursts of 50 calls that the stream takes without
// waiting. exec_host.py beside it is without launches, whose times scatter by more than what exec adds.
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>

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

constexpr int kBursts = 201, kCalls = 50;

template <class Call>
double microseconds(const Call& call) {
  std::vector<double> found;
  for (int burst = 0; burst < kBursts; ++burst) {
    require(cudaDeviceSynchronize() == cudaSuccess, "cudaDeviceSynchronize");
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) call();
    found.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / kCalls);
  }
  std::nth_element(found.begin(), found.begin() + kBursts / 2, found.end());
  return found[kBursts / 2];
}

}  // namespace

int main() {
  cublasHandle_t handle;
  cublasLtHandle_t light;
  require(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS, "cublasCreate");
  require(cublasLtCreate(&light) == CUBLAS_STATUS_SUCCESS, "cublasLtCreate");
  const float one = 1, zero = 0;
  for (const int n : {64, 1024}) {
    float* memory;
    const std::size_t entries = static_cast<std::size_t>(n) * n;
    require(cudaMalloc(&memory, 3 * entries * sizeof(float)) == cudaSuccess, "cudaMalloc");
    require(cudaMemset(memory, 0, 3 * entries * sizeof(float)) == cudaSuccess, "cudaMemset");
    const float *a = memory, *b = memory + entries;
    float* c = memory + 2 * entries;
    const double of_sgemm = microseconds([&] {
      require(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, b, n, &zero, c, n) == CUBLAS_STATUS_SUCCESS,
              "cublasSgemm");
    });
    cublasLtMatmulDesc_t about;
    cublasLtMatrixLayout_t layout;
    require(cublasLtMatmulDescCreate(&about, CUBLAS_COMPUTE_32F, CUDA_R_32F) == CUBLAS_STATUS_SUCCESS, "a descriptor");
    require(cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, n, n, n) == CUBLAS_STATUS_SUCCESS, "a layout");
    cublasLtMatmulPreference_t preference;
    require(cublasLtMatmulPreferenceCreate(&preference) == CUBLAS_STATUS_SUCCESS, "a preference");
    cublasLtMatmulHeuristicResult_t chosen;
    int count = 0;
    require(cublasLtMatmulAlgoGetHeuristic(light, about, layout, layout, layout, layout, preference, 1, &chosen, &count) ==
                    CUBLAS_STATUS_SUCCESS &&
                count == 1,
            "cublasLtMatmulAlgoGetHeuristic");
    const double of_matmul = microseconds([&] {
      require(cublasLtMatmul(light, about, &one, a, layout, b, layout, &zero, c, layout, c, layout, &chosen.algo, nullptr, 0,
                             nullptr) == CUBLAS_STATUS_SUCCESS,
              "cublasLtMatmul");
    });
    std::printf("N = %d: cublasSgemm %.2f us, cublasLtMatmul %.2f us\n", n, of_sgemm, of_matmul);
    cublasLtMatmulPreferenceDestroy(preference);
    cublasLtMatrixLayoutDestroy(layout);
    cublasLtMatmulDescDestroy(about);
    cudaFree(memory);
  }
  cublasLtDestroy(light);
  cublasDestroy(handle);
  return 0;
}
