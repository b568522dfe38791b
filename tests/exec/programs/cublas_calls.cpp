// Calls of cuBLAS by a program. Each result is compared with entries made on the host: correctly rounded where the argument is
// "correct", else within the precision of FP64. Prints "N passed, N failed"; status 77 without a GPU.
#include <cublas_v2.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "device.hpp"

namespace {

using Complex = std::complex<double>;
using Quad = __float128;  // 113 bits: sums of so few products of 106 are rounded right but for near ties of 2^-50

bool is_exact = false;

std::mt19937_64 engine(7);
double number() {
  return std::ldexp(std::normal_distribution<double>()(engine), std::uniform_int_distribution<int>(-3, 3)(engine));
}
void fill(double& x) { x = number(); }
void fill(Complex& x) { x = {number(), number()}; }

template <class T>
std::vector<T> random(std::size_t count) {
  std::vector<T> found(count);
  for (T& x : found) fill(x);
  return found;
}

// A sum of products, and of their magnitudes. Real numbers have no imaginary part made: Quad takes its time.
struct Sum {
  Quad re = 0, im = 0;
  double size = 0;
  void add(double x, double y) {
    re += Quad(x) * y;
    size += std::fabs(x * y);
  }
  void add(const Complex& x, const Complex& y) {
    re += Quad(x.real()) * y.real() - Quad(x.imag()) * y.imag();
    im += Quad(x.real()) * y.imag() + Quad(x.imag()) * y.real();
    size += std::abs(x) * std::abs(y);
  }
};

double op(double x, cublasOperation_t) { return x; }
Complex op(const Complex& x, cublasOperation_t trans) { return trans == CUBLAS_OP_C ? std::conj(x) : x; }

std::string text(const Complex& x) { return std::to_string(x.real()) + " " + std::to_string(x.imag()); }

void note(bool is_right, const std::string& what) {
  (is_right ? passed : failed) += 1;
  if (!is_right && failed < 20) std::printf("wrong: %s\n", what.c_str());
}

bool is_near(double found, Quad expected, double size, int k) {
  if (is_exact) return found == static_cast<double>(expected);
  const Quad error = Quad(found) - expected;
  return static_cast<double>(error < 0 ? -error : error) <= size * (k + 4) * 2.3e-16;
}

// Compares one product of column-major matrices.
template <class T>
void compare(const std::string& what, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, T alpha, const T* a,
             int lda, const T* b, int ldb, T beta, const T* before, int ldc, const T* found) {
  bool is_right = true;
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) {
      Sum sum;
      for (int l = 0; l < k; ++l) {
        const T x = op(ta == CUBLAS_OP_N ? a[i + l * lda] : a[l + i * lda], ta);
        sum.add(x, op(tb == CUBLAS_OP_N ? b[l + j * ldb] : b[j + l * ldb], tb));
      }
      const Complex al = alpha, be = beta, c = be == 0.0 ? Complex() : Complex(before[i + j * ldc]);
      const Quad re = sum.re * al.real() - sum.im * al.imag() + Quad(be.real()) * c.real() - Quad(be.imag()) * c.imag();
      const Quad im = sum.im * al.real() + sum.re * al.imag() + Quad(be.real()) * c.imag() + Quad(be.imag()) * c.real();
      const double size = 2 * (sum.size * std::abs(al) + std::abs(be) * std::abs(c));
      const Complex own = found[i + j * ldc];
      is_right = is_right && is_near(own.real(), re, size, 2 * k) && is_near(own.imag(), im, size, 2 * k);
    }
  }
  for (int j = 0; j < n; ++j) {  // rows below the result
    for (int i = m; i < ldc; ++i) is_right = is_right && std::memcmp(&before[i + j * ldc], &found[i + j * ldc], sizeof(T)) == 0;
  }
  note(is_right, what);
}

template <class T>
using Pairs = std::vector<std::pair<T, T>>;  // alpha, beta

struct Real {
  using T = double;
  static Pairs<T> factors() { return {{1.0, 0.0}, {-1.5, 1.0}, {2.0, -0.75}}; }
  static constexpr cudaDataType type = CUDA_R_64F;
  static constexpr cublasComputeType_t compute = CUBLAS_COMPUTE_64F;
  static cublasStatus_t gemm(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const T* al,
                             const T* a, int lda, const T* b, int ldb, const T* be, T* c, int ldc) {
    return cublasDgemm(h, ta, tb, m, n, k, al, a, lda, b, ldb, be, c, ldc);
  }
  static cublasStatus_t strided(cublasHandle_t h, int m, int n, int k, const T* al, const T* a, long long sa, const T* b,
                                long long sb, const T* be, T* c, long long sc, int count) {
    return cublasDgemmStridedBatched(h, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, al, a, m, sa, b, k, sb, be, c, m, sc, count);
  }
};

struct Imaginary {
  using T = Complex;
  static Pairs<T> factors() {
    const T i(0, 1), both(0.5, -1.25);
    return {{1.0, 0.0}, {-1.5, 1.0}, {i, -0.75}, {2.0, i}, {both, 0.0}, {1.0, both}, {both, -i}};
  }
  using Z = cuDoubleComplex;
  static constexpr cudaDataType type = CUDA_C_64F;
  static constexpr cublasComputeType_t compute = CUBLAS_COMPUTE_64F;
  static const Z* of(const T* x) { return reinterpret_cast<const Z*>(x); }
  static Z* of(T* x) { return reinterpret_cast<Z*>(x); }
  static cublasStatus_t gemm(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const T* al,
                             const T* a, int lda, const T* b, int ldb, const T* be, T* c, int ldc) {
    return cublasZgemm(h, ta, tb, m, n, k, of(al), of(a), lda, of(b), ldb, of(be), of(c), ldc);
  }
  static cublasStatus_t strided(cublasHandle_t h, int m, int n, int k, const T* al, const T* a, long long sa, const T* b,
                                long long sb, const T* be, T* c, long long sc, int count) {
    return cublasZgemmStridedBatched(h, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, of(al), of(a), m, sa, of(b), k, sb, of(be), of(c), m,
                                     sc, count);
  }
};

template <class T>
T noise() {
  return T(std::numeric_limits<double>::quiet_NaN());
}

template <class Kind>
void gemms(cublasHandle_t handle, const char* name) {
  using T = typename Kind::T;
  const int shapes[][3] = {{1, 1, 1}, {33, 17, 65}, {5, 70, 130}, {72, 50, 40}, {7, 9, 0}};
  const cublasOperation_t trans[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
  for (const auto& [m, n, k] : shapes) {
    for (const auto ta : trans) {
      for (const auto tb : trans) {
        for (const auto& [alpha, beta] : Kind::factors()) {
          const int lda = std::max(ta == CUBLAS_OP_N ? m : k, 1) + 3, ldb = std::max(tb == CUBLAS_OP_N ? k : n, 1) + 1,
                    ldc = m + 2;
          const auto a = random<T>(static_cast<std::size_t>(lda) * std::max(ta == CUBLAS_OP_N ? k : m, 1));
          const auto b = random<T>(static_cast<std::size_t>(ldb) * std::max(tb == CUBLAS_OP_N ? n : k, 1));
          auto c = random<T>(static_cast<std::size_t>(ldc) * n);
          if (beta == 0.0) std::fill(c.begin(), c.end(), noise<T>());
          const Device<T> da(a), db(b), dc(c);
          REQUIRE(Kind::gemm(handle, ta, tb, m, n, k, &alpha, da.data, lda, db.data, ldb, &beta, dc.data, ldc));
          compare<T>(std::string(name) + " gemm " + std::to_string(m) + " " + std::to_string(n) + " " + std::to_string(k) +
                         " trans " + std::to_string(ta) + std::to_string(tb) + " alpha " + text(alpha) + " beta " + text(beta),
                     ta, tb, m, n, k, alpha, a.data(), lda, b.data(), ldb, beta, c.data(), ldc, dc.read().data());
        }
      }
    }
  }
}

// The other functions for products, all of m x k by k x n without transposes.
template <class Kind>
void others(cublasHandle_t handle, const char* name) {
  using T = typename Kind::T;
  constexpr int m = 96, n = 80, k = 72, count = 3;
  constexpr auto none = CUBLAS_OP_N;
  const auto a = random<T>(m * k * count), b = random<T>(k * n * count), c = random<T>(m * n * count);
  const Device<T> da(a), db(b);
  const T alpha(1.25), beta(-0.5);
  const auto check = [&](const char* what, const std::vector<T>& found, int matrices) {
    for (int i = 0; i < matrices; ++i) {
      compare<T>(std::string(name) + " " + what, none, none, m, n, k, alpha, &a[i * m * k], m, &b[i * k * n], k, beta,
                 &c[i * m * n], m, &found[i * m * n]);
    }
  };
  {
    const Device<T> dc(c);
    REQUIRE(Kind::strided(handle, m, n, k, &alpha, da.data, m * k, db.data, k * n, &beta, dc.data, m * n, count));
    check("strided", dc.read(), count);
  }
  {
    const Device<T> dc(c);
    REQUIRE(cublasGemmEx(handle, none, none, m, n, k, &alpha, da.data, Kind::type, m, db.data, Kind::type, k, &beta, dc.data,
                         Kind::type, m, Kind::compute, CUBLAS_GEMM_DEFAULT));
    check("GemmEx", dc.read(), 1);
  }
  {
    const Device<T> dc(c);
    REQUIRE(cublasGemmStridedBatchedEx(handle, none, none, m, n, k, &alpha, da.data, Kind::type, m, m * k, db.data, Kind::type, k,
                                       k * n, &beta, dc.data, Kind::type, m, m * n, count, Kind::compute, CUBLAS_GEMM_DEFAULT));
    check("GemmStridedBatchedEx", dc.read(), count);
  }
  {  // factors on the device: a product of cuBLAS's own, which is not rounded exactly
    const bool is_asked = std::exchange(is_exact, false);
    const Device<T> dc(c), factors(std::vector<T>{alpha, beta});
    REQUIRE(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
    REQUIRE(Kind::gemm(handle, none, none, m, n, k, factors.data, da.data, m, db.data, k, factors.data + 1, dc.data, m));
    REQUIRE(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
    check("factors on the device", dc.read(), 1);
    is_exact = is_asked;
  }
  {  // a graph: cuBLAS makes its product
    const bool is_asked = std::exchange(is_exact, false);
    const Device<T> dc(c);
    void* workspace = nullptr;
    REQUIRE(cudaMalloc(&workspace, 64 << 20));
    cudaStream_t stream;
    REQUIRE(cudaStreamCreate(&stream));
    REQUIRE(cublasSetStream(handle, stream));
    REQUIRE(cublasSetWorkspace(handle, workspace, 64 << 20));
    REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    REQUIRE(Kind::gemm(handle, none, none, m, n, k, &alpha, da.data, m, db.data, k, &beta, dc.data, m));
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    REQUIRE(cudaStreamEndCapture(stream, &graph));
    REQUIRE(cudaGraphInstantiate(&ready, graph, 0));
    REQUIRE(cudaGraphLaunch(ready, stream));
    REQUIRE(cudaStreamSynchronize(stream));
    check("captured", dc.read(), 1);
    is_exact = is_asked;
    REQUIRE(cublasSetStream(handle, nullptr));
    REQUIRE(cudaGraphExecDestroy(ready));
    REQUIRE(cudaGraphDestroy(graph));
    REQUIRE(cudaStreamDestroy(stream));
    REQUIRE(cudaFree(workspace));
  }
}

// Whether a million products leave the device as it was but for what the first ones have taken. Prints the bytes.
bool keeps_nothing(cublasHandle_t handle) {
  constexpr int n = 16, first = 1000, count = 1000000;
  constexpr std::size_t most = 1 << 21;  // what an allocation takes at once
  const auto a = random<double>(n * n);
  const Device<double> da(a), dc(a);
  const double alpha = 1, beta = 0;
  std::size_t before = 0, after = 0, all = 0;
  for (int i = 0; i < first + count; ++i) {
    if (i == first) {
      REQUIRE(cudaDeviceSynchronize());
      REQUIRE(cudaMemGetInfo(&before, &all));
    }
    REQUIRE(cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &alpha, da.data, n, da.data, n, &beta, dc.data, n));
  }
  REQUIRE(cudaDeviceSynchronize());
  REQUIRE(cudaMemGetInfo(&after, &all));
  std::printf("%d products: %lld bytes of the device taken\n", count,
              static_cast<long long>(before) - static_cast<long long>(after));
  return after + most > before;
}

}  // namespace

int main(int argc, char** argv) {
  if (!has_gpu()) return skipped;
  const std::string mode = argc > 1 ? argv[1] : "";
  cublasHandle_t handle;
  REQUIRE(cublasCreate(&handle));
  if (mode == "long") return keeps_nothing(handle) ? 0 : 1;
  is_exact = mode == "correct";
  gemms<Real>(handle, "D");
  gemms<Imaginary>(handle, "Z");
  others<Real>(handle, "D");
  others<Imaginary>(handle, "Z");
  REQUIRE(cublasDestroy(handle));
  return finish();
}
