// First products, which try kernels and bring schedules to the device, while another thread captures a CUDA graph: the products
// are right, and so is the graph. By itself, as everything else finds what was tried.
#include <ozfp4.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "check.hpp"
#include "cuda/gpu.hpp"

namespace {

constexpr int kRows = OZFP4_ROW_MAJOR, kNone = OZFP4_NO_TRANS;

using Bytes = std::vector<char>;

// Numbers that are not integers.
Bytes numbers(std::int64_t count) {
  Bytes bytes(static_cast<std::size_t>(count) * 8);
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    const double x = static_cast<double>(random_int(-255, 255)) / 3;
    std::memcpy(&bytes[at], &x, sizeof x);
  }
  return bytes;
}

struct Device {
  char* data = nullptr;
  explicit Device(const Bytes& from) {
    REQUIRE(cudaMalloc(reinterpret_cast<void**>(&data), from.size() + 1));
    write(from);
  }
  Device(const Device&) = delete;
  ~Device() { cudaFree(data); }
  // The bytes are there when it returns, for whatever stream: a copy alone returns once it has read them.
  void write(const Bytes& from) const {
    REQUIRE(cudaMemcpy(data, from.data(), from.size(), cudaMemcpyHostToDevice));
    REQUIRE(cudaStreamSynchronize(nullptr));
  }
  Bytes read(std::size_t bytes) const {
    Bytes found(bytes);
    REQUIRE(cudaDeviceSynchronize());
    REQUIRE(cudaMemcpy(found.data(), data, bytes, cudaMemcpyDeviceToHost));
    return found;
  }
};

constexpr std::int64_t kM = 70, kN = 40, kK = 90, kWorkspace = 1 << 26;
constexpr std::size_t kMarked = 4096;
constexpr double kOne = 1, kZero = 0;

// The work of one thread on a stream while `call` runs in this one: it captures a kernel that marks some memory, and then
// launches it.
void check_beside_capture(const std::string& name, unsigned kind, const std::function<void()>& call) {
  const Device marked(Bytes(kMarked, 0));
  std::promise<void> begun, over;
  std::thread other([&] {
    cudaStream_t stream = nullptr;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t launchable = nullptr;
    REQUIRE(cudaStreamCreateWithFlags(&stream, kind));
    REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    REQUIRE(cudaMemsetAsync(marked.data, 1, kMarked, stream));
    begun.set_value();
    over.get_future().wait();
    REQUIRE(cudaMemsetAsync(marked.data, 2, kMarked / 2, stream));
    const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
    report(name + ": the capture goes on", ended == cudaSuccess && graph != nullptr, cudaGetErrorString(ended));
    if (graph != nullptr) {
      REQUIRE(cudaGraphInstantiate(&launchable, graph, 0));
      REQUIRE(cudaGraphLaunch(launchable, stream));
      REQUIRE(cudaStreamSynchronize(stream));
      REQUIRE(cudaGraphExecDestroy(launchable));
      REQUIRE(cudaGraphDestroy(graph));
    }
    REQUIRE(cudaStreamDestroy(stream));
  });
  begun.get_future().wait();
  call();
  over.set_value();
  other.join();
  Bytes expected(kMarked, 1);
  std::fill_n(expected.begin(), kMarked / 2, char(2));
  report(name + ": the graph", marked.read(kMarked) == expected, "something else");
}

ozfp4_options options_of(int accuracy, int scheme, int backend, int bits) {
  ozfp4_options options = OZFP4_OPTIONS_INIT;
  options.accuracy = accuracy, options.scheme = scheme, options.backend = backend, options.bits = bits;
  return options;
}

}  // namespace

int main() {
  require_gpu();
  const Bytes a = numbers(kM * kK), b = numbers(kK * kN), noise = numbers(kM * kN);
  const Bytes whole_a(static_cast<std::size_t>(kM * kK) * 8, 3), whole_b(static_cast<std::size_t>(kK * kN) * 8, 5);
  const Device on_a(a), on_b(b), on_c(noise), ints_a(whole_a), ints_b(whole_b);
  const Device workspace(Bytes(static_cast<std::size_t>(kWorkspace)));
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  REQUIRE(cudaDeviceSynchronize());

  struct Case {
    const char* name;
    ozfp4_options options;
  };
  // Scheme I on limbs of 8 bits: 677 steps for 200 bits, which a kernel's parameters do not hold.
  const Case cases[] = {
      {"the default", OZFP4_OPTIONS_INIT},
      {"a long schedule", options_of(OZFP4_ACCURACY_SCALED, OZFP4_SCHEME_I, OZFP4_BACKEND_INT8, 200)},
      {"FP4", options_of(OZFP4_ACCURACY_CORRECT, OZFP4_SCHEME_II, OZFP4_BACKEND_FP4, 0)},
  };
  const auto at = [](const Device& matrix) { return reinterpret_cast<double*>(matrix.data); };
  for (const Case& own : cases) {
    on_c.write(noise);
    check_beside_capture(own.name, cudaStreamDefault, [&] {
      std::int64_t bytes = 0;
      report(std::string(own.name) + ": its size",
             ozfp4_cuda_workspace_size_gemm(OZFP4_FLOAT64, kRows, kNone, kNone, kM, kN, kK, &kOne, on_a.data, kK, on_b.data, kN,
                                            &kZero, on_c.data, kN, &own.options, &bytes) == OZFP4_OK,
             ozfp4_last_error());
      report(std::string(own.name) + ": fits", bytes <= kWorkspace, std::to_string(bytes) + " bytes");
      report(std::string(own.name) + ": enqueued",
             ozfp4_cuda_dgemm(kRows, kNone, kNone, kM, kN, kK, 1.0, at(on_a), kK, at(on_b), kN, 0.0, at(on_c), kN, workspace.data,
                              kWorkspace, stream, &own.options) == OZFP4_OK,
             ozfp4_last_error());
    });
    REQUIRE(cudaStreamSynchronize(stream));
    Bytes on_host = noise;
    const ozfp4_status status = ozfp4_dgemm(kRows, kNone, kNone, kM, kN, kK, 1.0, reinterpret_cast<const double*>(a.data()), kK,
                                            reinterpret_cast<const double*>(b.data()), kN, 0.0,
                                            reinterpret_cast<double*>(on_host.data()), kN, &own.options);
    const Bytes found = on_c.read(on_host.size());
    report(std::string(own.name) + ": the product", status == OZFP4_OK && found == on_host, "differs");
  }

  on_c.write(noise);
  check_beside_capture("integers", cudaStreamNonBlocking, [&] {
    report("integers: enqueued",
           ozfp4_cuda_igemm(kRows, kNone, kNone, kM, kN, kK, 1, OZFP4_INT64, ints_a.data, kK, OZFP4_INT64, ints_b.data, kN, 0,
                            OZFP4_INT64, on_c.data, kN, workspace.data, kWorkspace, stream, nullptr) == OZFP4_OK,
           ozfp4_last_error());
  });
  REQUIRE(cudaStreamSynchronize(stream));
  Bytes on_host = noise;
  const ozfp4_status status = ozfp4_igemm(kRows, kNone, kNone, kM, kN, kK, 1, OZFP4_INT64, whole_a.data(), kK, OZFP4_INT64,
                                          whole_b.data(), kN, 0, OZFP4_INT64, on_host.data(), kN, nullptr);
  report("integers: the product", status == OZFP4_OK && on_c.read(on_host.size()) == on_host, "differs");
  REQUIRE(cudaStreamDestroy(stream));
  return finish();
}
