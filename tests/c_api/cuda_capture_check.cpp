// A CUDA graph of a product whose schedule lies on the device (more steps than a kernel's parameters hold) gives the same bits
// when it is launched again behind products of more extents than the library keeps, whatever memory was given back since.
#include <ozfp4.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "check.hpp"
#include "cuda/gpu.hpp"

namespace {

constexpr std::int64_t kM = 70, kN = 40, kK = 90;
constexpr int kOthers = 300;  // more than csrc/c_api/cuda/problem.cpp keeps

using Numbers = std::vector<double>;

Numbers numbers(std::int64_t count) {
  Numbers found(static_cast<std::size_t>(count));
  for (double& x : found) x = static_cast<double>(random_int(-(1 << 30), 1 << 30)) / 3;
  return found;
}

struct Device {
  double* data = nullptr;
  explicit Device(const Numbers& from) {
    REQUIRE(cudaMalloc(reinterpret_cast<void**>(&data), from.size() * 8));
    write(from);
  }
  Device(const Device&) = delete;
  ~Device() { cudaFree(data); }
  void write(const Numbers& from) const { REQUIRE(cudaMemcpy(data, from.data(), from.size() * 8, cudaMemcpyHostToDevice)); }
  Numbers read(std::size_t count) const {
    Numbers found(count);
    REQUIRE(cudaDeviceSynchronize());
    REQUIRE(cudaMemcpy(found.data(), data, count * 8, cudaMemcpyDeviceToHost));
    return found;
  }
};

// Scheme I on limbs of 8 bits: 677 steps for 200 bits.
ozfp4_options long_options() {
  ozfp4_options options = OZFP4_OPTIONS_INIT;
  options.accuracy = OZFP4_ACCURACY_SCALED;
  options.scheme = OZFP4_SCHEME_I;
  options.backend = OZFP4_BACKEND_INT8;
  options.bits = 200;
  return options;
}

std::int64_t workspace_of(std::int64_t n, const ozfp4_options& options) {
  std::int64_t bytes = 0;
  report("workspace of " + std::to_string(n),
         ozfp4_cuda_workspace_size(OZFP4_FLOAT64, OZFP4_ROW_MAJOR, OZFP4_NO_TRANS, OZFP4_NO_TRANS, kM, n, kK, &options, &bytes) ==
             OZFP4_OK,
         ozfp4_last_error());
  return bytes;
}

}  // namespace

int main() {
  require_gpu();
  const ozfp4_options options = long_options(), plain = OZFP4_OPTIONS_INIT;
  const Numbers a = numbers(kM * kK), b = numbers(kK * kOthers), noise = numbers(kM * kOthers);
  const Device on_a(a), on_b(b), on_c(noise);
  std::int64_t bytes = workspace_of(kN, options);
  for (int n = 1; n <= kOthers; ++n) bytes = std::max(bytes, workspace_of(n, plain));
  const Device workspace(Numbers(static_cast<std::size_t>(bytes / 8 + 1)));
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const auto enqueue = [&](std::int64_t n, const ozfp4_options& own) {
    const ozfp4_status status = ozfp4_cuda_dgemm(OZFP4_ROW_MAJOR, OZFP4_NO_TRANS, OZFP4_NO_TRANS, kM, n, kK, 1.0, on_a.data, kK,
                                                 on_b.data, n, 0.0, on_c.data, n, workspace.data, bytes, stream, &own);
    report("enqueued, n = " + std::to_string(n), status == OZFP4_OK, ozfp4_last_error());
  };
  constexpr auto kCount = static_cast<std::size_t>(kM * kN);

  enqueue(kN, options);
  const Numbers first = on_c.read(kCount);
  Numbers on_host = noise;
  const ozfp4_status status = ozfp4_dgemm(OZFP4_ROW_MAJOR, OZFP4_NO_TRANS, OZFP4_NO_TRANS, kM, kN, kK, 1.0, a.data(), kK,
                                          b.data(), kN, 0.0, on_host.data(), kN, &options);
  on_host.resize(kCount);
  if (status != OZFP4_NO_BLAS) report("the product", status == OZFP4_OK && first == on_host, ozfp4_last_error());

  cudaGraph_t graph = nullptr;
  cudaGraphExec_t launchable = nullptr;
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  enqueue(kN, options);
  REQUIRE(cudaStreamEndCapture(stream, &graph));
  REQUIRE(cudaGraphInstantiate(&launchable, graph, 0));

  for (int n = 1; n <= kOthers; ++n) enqueue(n, plain);
  REQUIRE(cudaDeviceSynchronize());
  std::vector<std::unique_ptr<const Device>> others;  // in what may have been freed
  for (int i = 0; i < 256; ++i) others.push_back(std::make_unique<const Device>(Numbers(4096, -1e300)));

  for (int i = 0; i < 2; ++i) {
    on_c.write(noise);
    REQUIRE(cudaGraphLaunch(launchable, stream));
    const Numbers again = on_c.read(kCount);
    std::size_t at = 0;
    while (at < kCount && again[at] == first[at]) ++at;
    report("replay " + std::to_string(i), at == kCount, "entry " + std::to_string(at) + " differs");
  }
  REQUIRE(cudaGraphExecDestroy(launchable));
  REQUIRE(cudaGraphDestroy(graph));
  REQUIRE(cudaStreamDestroy(stream));
  return finish();
}
