// The number of entries that nothing certified, as ozfp4_cuda_?gemm reports it.
#include <ozfp4.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "check.hpp"
#include "cuda/gpu.hpp"
#include "cuda_matrices.hpp"

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

// Each entry with an exponent of its own in -span .. span.
Bytes numbers(std::int64_t count, int span) {
  Bytes bytes(static_cast<std::size_t>(count) * 8);
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    const double x = std::ldexp(static_cast<double>(random_int(1, 1 << 30)) / 3, static_cast<int>(random_int(-span, span)));
    std::memcpy(&bytes[i], &x, sizeof x);
  }
  return bytes;
}

double* at(const Device& matrix) { return reinterpret_cast<double*>(matrix.data); }

void check_shape(std::int64_t m, std::int64_t n, std::int64_t k, double beta, int span) {
  const std::string name = std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k) + " beta " +
                           std::to_string(beta) + " span " + std::to_string(span);
  const Device a(numbers(m * k, span)), b(numbers(k * n, span));
  const Bytes before = numbers(m * n, 1);
  ozfp4_options options = OZFP4_OPTIONS_INIT;
  std::int64_t bytes = 0;
  const double one = 1;
  for (const int accuracy : {0, kScaled}) {  // of both that run in it
    std::int64_t own = 0;
    options.accuracy = accuracy;
    const ozfp4_status status = ozfp4_cuda_workspace_size_gemm(OZFP4_FLOAT64, kRows, kNone, kNone, m, n, k, &one, a.data, k,
                                                               b.data, n, &beta, nullptr, n, &options, &own);
    if (!report(name + " workspace", status == OZFP4_OK, ozfp4_last_error())) return;
    bytes = std::max(bytes, own);
  }
  const Workspace workspace(bytes);
  const auto run = [&](std::int64_t* told, int accuracy) {
    const Device c(before);
    options.repaired = told, options.accuracy = accuracy;
    const ozfp4_status status = ozfp4_cuda_dgemm(kRows, kNone, kNone, m, n, k, 1.0, at(a), k, at(b), n, beta, at(c), n,
                                                 workspace.memory.data, bytes, nullptr, &options);
    report(name + " status", status == OZFP4_OK, ozfp4_last_error());
    return c.read(before.size());
  };
  const Count on_device(false), on_host(true);
  const Bytes plain = run(nullptr, 0);
  report(name + " told", run(on_device.at, 0) == plain);
  const std::int64_t count = on_device.value();
  report(name + " count", span == 0 ? count == 0 : count > 0, std::to_string(count));
  report(name + " on the host", run(on_host.at, 0) == plain && on_host.value() == count);
  for (const Count* told : {&on_device, &on_host}) {
    REQUIRE(cudaMemcpy(told->at, &kNoise, sizeof kNoise, cudaMemcpyDefault));
    run(told->at, kScaled);
    report(name + " scaled", told->value() == 0, std::to_string(told->value()));
  }
}

// Where nothing is multiplied, and where there is nothing to write.
void check_nothing(std::int64_t m, std::int64_t k, double alpha, double beta) {
  const Device a(numbers(100, 300)), b(numbers(100, 300)), c(numbers(100, 1));
  const Count told(false);
  ozfp4_options options = OZFP4_OPTIONS_INIT;
  options.repaired = told.at;
  std::int64_t bytes = 0;
  report("workspace of nothing", ozfp4_cuda_workspace_size_gemm(OZFP4_FLOAT64, kRows, kNone, kNone, m, 10, k, &alpha, a.data, 10,
                                                                b.data, 10, &beta, c.data, 10, &options, &bytes) == OZFP4_OK);
  const Workspace workspace(bytes);
  const ozfp4_status status = ozfp4_cuda_dgemm(kRows, kNone, kNone, m, 10, k, alpha, at(a), 10, at(b), 10, beta, at(c), 10,
                                               workspace.memory.data, bytes, nullptr, &options);
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
