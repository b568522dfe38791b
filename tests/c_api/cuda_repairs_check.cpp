// The number of entries that nothing certified, as ozfp4_cuda_?gemm reports it.
#include <ozfp4.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "check.hpp"
#include "cuda/gpu.hpp"

namespace {

constexpr std::int64_t kNoise = -777;

// On the device, or where `is_pinned` on the host.
struct Count {
  std::int64_t* at = nullptr;
  bool is_pinned;
  explicit Count(bool pinned) : is_pinned(pinned) {
    void** place = reinterpret_cast<void**>(&at);
    REQUIRE(is_pinned ? cudaMallocHost(place, sizeof *at) : cudaMalloc(place, sizeof *at));
    REQUIRE(cudaMemcpy(at, &kNoise, sizeof kNoise, cudaMemcpyDefault));
  }
  Count(const Count&) = delete;
  ~Count() { is_pinned ? cudaFreeHost(at) : cudaFree(at); }
  std::int64_t value() const {
    std::int64_t found = 0;
    REQUIRE(cudaDeviceSynchronize());
    REQUIRE(cudaMemcpy(&found, at, sizeof found, cudaMemcpyDefault));
    return found;
  }
};

struct Matrix {
  double* data = nullptr;
  explicit Matrix(const std::vector<double>& from) {
    REQUIRE(cudaMalloc(reinterpret_cast<void**>(&data), from.size() * 8));
    REQUIRE(cudaMemcpy(data, from.data(), from.size() * 8, cudaMemcpyHostToDevice));
  }
  Matrix(const Matrix&) = delete;
  ~Matrix() { cudaFree(data); }
  std::vector<double> read(std::size_t count) const {
    std::vector<double> found(count);
    REQUIRE(cudaMemcpy(found.data(), data, count * 8, cudaMemcpyDeviceToHost));
    return found;
  }
};

// Each entry with an exponent of its own in -span .. span.
std::vector<double> numbers(std::int64_t count, int span) {
  std::vector<double> found(static_cast<std::size_t>(count));
  for (double& x : found) {
    x = std::ldexp(static_cast<double>(random_int(1, 1 << 30)) / 3, static_cast<int>(random_int(-span, span)));
  }
  return found;
}

bool has_same_bits(const std::vector<double>& x, const std::vector<double>& y) {
  return std::memcmp(x.data(), y.data(), x.size() * 8) == 0;
}

void check_shape(std::int64_t m, std::int64_t n, std::int64_t k, double beta, int span) {
  const std::string name = std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k) + " beta " +
                           std::to_string(beta) + " span " + std::to_string(span);
  const Matrix a(numbers(m * k, span)), b(numbers(k * n, span));
  const std::vector<double> before = numbers(m * n, 1);
  ozfp4_options options = OZFP4_OPTIONS_INIT;
  std::int64_t bytes = 0;
  const double one = 1;
  for (const int accuracy : {0, int(OZFP4_ACCURACY_SCALED)}) {  // of both that run in it
    std::int64_t own = 0;
    options.accuracy = accuracy;
    const ozfp4_status status =
        ozfp4_cuda_workspace_size_gemm(OZFP4_FLOAT64, OZFP4_ROW_MAJOR, OZFP4_NO_TRANS, OZFP4_NO_TRANS, m, n, k, &one, a.data, k,
                                       b.data, n, &beta, nullptr, n, &options, &own);
    if (!report(name + " workspace", status == OZFP4_OK, ozfp4_last_error())) return;
    bytes = std::max(bytes, own);
  }
  const Matrix workspace(std::vector<double>(static_cast<std::size_t>(bytes / 8 + 1)));
  const auto run = [&](std::int64_t* told, int accuracy) {
    const Matrix c(before);
    options.repaired = told, options.accuracy = accuracy;
    const ozfp4_status status = ozfp4_cuda_dgemm(OZFP4_ROW_MAJOR, OZFP4_NO_TRANS, OZFP4_NO_TRANS, m, n, k, 1.0, a.data, k, b.data,
                                                 n, beta, c.data, n, workspace.data, bytes, nullptr, &options);
    report(name + " status", status == OZFP4_OK, ozfp4_last_error());
    return c.read(before.size());
  };
  const Count on_device(false), on_host(true);
  const std::vector<double> plain = run(nullptr, 0);
  report(name + " told", has_same_bits(run(on_device.at, 0), plain));
  const std::int64_t count = on_device.value();
  report(name + " count", span == 0 ? count == 0 : count > 0, std::to_string(count));
  report(name + " on the host", has_same_bits(run(on_host.at, 0), plain) && on_host.value() == count);
  for (const Count* told : {&on_device, &on_host}) {
    REQUIRE(cudaMemcpy(told->at, &kNoise, sizeof kNoise, cudaMemcpyDefault));
    run(told->at, OZFP4_ACCURACY_SCALED);
    report(name + " scaled", told->value() == 0, std::to_string(told->value()));
  }
}

// Where nothing is multiplied, and where there is nothing to write.
void check_nothing(std::int64_t m, std::int64_t k, double alpha, double beta) {
  const Matrix a(numbers(100, 300)), b(numbers(100, 300)), c(numbers(100, 1));
  const Count told(false);
  ozfp4_options options = OZFP4_OPTIONS_INIT;
  options.repaired = told.at;
  std::int64_t bytes = 0;
  report("workspace of nothing",
         ozfp4_cuda_workspace_size_gemm(OZFP4_FLOAT64, OZFP4_ROW_MAJOR, OZFP4_NO_TRANS, OZFP4_NO_TRANS, m, 10, k, &alpha, a.data,
                                        10, b.data, 10, &beta, c.data, 10, &options, &bytes) == OZFP4_OK);
  const Matrix workspace(std::vector<double>(static_cast<std::size_t>(bytes / 8 + 1)));
  const ozfp4_status status = ozfp4_cuda_dgemm(OZFP4_ROW_MAJOR, OZFP4_NO_TRANS, OZFP4_NO_TRANS, m, 10, k, alpha, a.data, 10,
                                               b.data, 10, beta, c.data, 10, workspace.data, bytes, nullptr, &options);
  report("nothing " + std::to_string(m) + " " + std::to_string(k), status == OZFP4_OK && told.value() == 0,
         std::to_string(told.value()));
}

}  // namespace

int main() {
  require_gpu();
  for (const double beta : {0.0, 2.0}) {
    check_nothing(0, 10, 1, beta);
    check_nothing(10, 0, 1, beta);
    check_nothing(10, 10, 0, beta);
  }
  for (const int span : {0, 300}) {
    for (const double beta : {0.0, 2.0}) {
      check_shape(60, 50, 40, beta, span);     // one launch
      check_shape(500, 400, 300, beta, span);  // stages
      check_shape(3000, 90, 20, beta, span);   // tiles
    }
  }
  return finish();
}
