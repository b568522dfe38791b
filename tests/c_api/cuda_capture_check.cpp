// A CUDA graph of a product whose schedule lies on the device (more steps than a kernel's parameters hold) gives the same bits
// when it is launched again behind products of more extents than the library keeps, whatever memory was given back since.
#include <ozfp4.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "check.hpp"
#include "cuda/gpu.hpp"
#include "cuda_matrices.hpp"

namespace {

constexpr std::int64_t kM = 70, kN = 40, kK = 90;
constexpr int kOthers = 8300;  // more than product/gpu/kept.hpp keeps

// Scheme I on limbs of 8 bits: 677 steps for 200 bits.
ozfp4_options long_options() {
  ozfp4_options options = OZFP4_OPTIONS_INIT;
  options.accuracy = kScaled;
  options.scheme = OZFP4_SCHEME_I;
  options.backend = OZFP4_BACKEND_INT8;
  options.bits = 200;
  return options;
}

std::int64_t workspace_of(std::int64_t n, const ozfp4_options& options) {
  const double one = 1, zero = 0;
  std::int64_t bytes = 0;
  report("workspace of " + std::to_string(n),
         ozfp4_cuda_workspace_size_gemm(OZFP4_FLOAT64, kRows, kNone, kNone, kM, n, kK, &one, nullptr, kK, nullptr, n, &zero,
                                        nullptr, n, &options, &bytes) == OZFP4_OK,
         ozfp4_last_error());
  return bytes;
}

}  // namespace

int main() {
  require_gpu();
  const ozfp4_options options = long_options(), plain = OZFP4_OPTIONS_INIT;
  const Bytes a = numbers(kM * kK), b = numbers(kK * kOthers);
  const Bytes noise = numbers(kM * kOthers);
  const Device on_a(a), on_b(b), on_c(noise);
  std::int64_t bytes = workspace_of(kN, options);
  for (int n = 1; n <= kOthers; ++n) bytes = std::max(bytes, workspace_of(n, plain));
  const Device workspace(Bytes(static_cast<std::size_t>(bytes)));
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const auto at = [](const Device& matrix) { return reinterpret_cast<double*>(matrix.data); };
  const auto enqueue = [&](std::int64_t n, const ozfp4_options& own) {
    const ozfp4_status status = ozfp4_cuda_dgemm(kRows, kNone, kNone, kM, n, kK, 1.0, at(on_a), kK, at(on_b), n, 0.0, at(on_c), n,
                                                 workspace.data, bytes, stream, &own);
    report("enqueued, n = " + std::to_string(n), status == OZFP4_OK, ozfp4_last_error());
  };
  constexpr auto kCount = static_cast<std::size_t>(kM * kN * 8);

  enqueue(kN, options);
  const Bytes first = on_c.read(kCount);
  Bytes on_host = noise;
  const ozfp4_status status =
      ozfp4_dgemm(kRows, kNone, kNone, kM, kN, kK, 1.0, reinterpret_cast<const double*>(a.data()), kK,
                  reinterpret_cast<const double*>(b.data()), kN, 0.0, reinterpret_cast<double*>(on_host.data()), kN, &options);
  on_host.resize(kCount);
  report("the product", status == OZFP4_OK && first == on_host, ozfp4_last_error());

  cudaGraph_t graph = nullptr;
  cudaGraphExec_t launchable = nullptr;
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  enqueue(kN, options);
  REQUIRE(cudaStreamEndCapture(stream, &graph));
  REQUIRE(cudaGraphInstantiate(&launchable, graph, 0));

  for (int n = 1; n <= kOthers; ++n) enqueue(n, plain);
  REQUIRE(cudaDeviceSynchronize());
  std::vector<std::unique_ptr<const Device>> others;  // in what may have been freed
  for (int i = 0; i < 256; ++i) others.push_back(std::make_unique<const Device>(Bytes(32768, static_cast<char>(kPoison))));

  for (int i = 0; i < 2; ++i) {
    on_c.write(noise);
    REQUIRE(cudaGraphLaunch(launchable, stream));
    const Bytes again = on_c.read(kCount);
    report("replay " + std::to_string(i), again == first, difference(again, first));
    report("replay on the host", again == on_host, difference(again, on_host));
  }
  REQUIRE(cudaGraphExecDestroy(launchable));
  REQUIRE(cudaGraphDestroy(graph));
  REQUIRE(cudaStreamDestroy(stream));
  return finish();
}
