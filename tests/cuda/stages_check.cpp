// sync_stages on a GPU: a product is the same, an error is found with the stage that made it, and a capture is refused.
#include <cuda_runtime.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "check.hpp"
#include "cuda/gpu.hpp"
#include "cuda/matmul.hpp"

using namespace ozfp4;
using namespace ozfp4::cuda;

namespace {

constexpr int kSize = 300;  // of square matrices
constexpr Kernel kKernel = Kernel::mma_copy;

struct Product {
  CudaPlan plan;
  CudaProduct product;
  CudaLayout layout;
  char* workspace = nullptr;
  double *a, *c;

  explicit Product(Accuracy accuracy) {
    Promise promise;
    promise.accuracy = accuracy;
    const int bits = promise.certifies() ? accuracy_bits(accuracy, promise.precision) : 53;
    plan = make_cuda_plan(make_plan({Scheme::two, Alphabet::int8, "least", bits, kSize}), kSize, kKernel, promise);
    const std::vector<double> ones(kSize * kSize, 1.0);
    const std::size_t bytes = ones.size() * sizeof(double);
    REQUIRE(cudaMalloc(&a, bytes));
    REQUIRE(cudaMalloc(&c, bytes));
    REQUIRE(cudaMemcpy(a, ones.data(), bytes, cudaMemcpyHostToDevice));
    REQUIRE(cudaMemset(c, kPoison, bytes));
    product.a = {reinterpret_cast<const char*>(a), ElementType::float64, kSize, kSize, 8 * kSize, 8, {}};
    product.b = product.a;
    product.result.data = reinterpret_cast<char*>(c);
    product.result.rows = product.result.columns = kSize;
    product.result.row_stride = 8 * kSize;
    product.result.column_stride = 8;
    cudaDeviceProp device{};
    REQUIRE(cudaGetDeviceProperties(&device, 0));
    const Gpu gpu{10 * device.major + device.minor, device.multiProcessorCount};
    layout = make_layout(plan, product, gpu, INT64_MAX);
    check_matmul(plan, layout, product, nullptr, gpu);
    REQUIRE(cudaMalloc(&workspace, static_cast<std::size_t>(layout.bytes)));
  }

  void launch(const LaunchOptions& options) const {
    launch_matmul(plan, layout, turn_at(product, layout.turns, 0), workspace, nullptr, options);
  }
};

void check_result(const Product& p, const LaunchOptions& options) {
  p.launch(options);
  std::vector<double> result(kSize * kSize);
  REQUIRE(cudaMemcpy(result.data(), p.c, result.size() * sizeof(double), cudaMemcpyDeviceToHost));
  report("the product", result == std::vector<double>(kSize * kSize, kSize));
}

void check_capture(const Product& p, const LaunchOptions& options) {
  cudaGraph_t graph = nullptr;
  REQUIRE(cudaStreamBeginCapture(options.stream, cudaStreamCaptureModeRelaxed));
  std::string said;
  try {
    p.launch(options);
  } catch (const std::invalid_argument& error) {
    said = error.what();
  }
  report("a capture is refused", said.find("sync_stages: the stream is being captured") == 0, said);
  REQUIRE(cudaStreamEndCapture(options.stream, &graph));  // which is as it was
  std::size_t nodes = 1;
  REQUIRE(cudaGraphGetNodes(graph, nullptr, &nodes));
  report("nothing was captured", nodes == 0);
}

// Leaves a device that does nothing any more.
void check_error(Product& p, const LaunchOptions& options) {
  p.product.result.data = reinterpret_cast<char*>(64);  // that may not be written
  try {
    p.launch(options);
    report("an error is found", false);
  } catch (const LaunchError& error) {
    report("it has its stage", error.stage() == Stage::reconstruct, error.what());
    report("and says so", std::string(error.what()).find("reconstruct") != std::string::npos, error.what());
  }
}

}  // namespace

int main() {
  require_gpu();
  Product p(Accuracy::scaled);
  LaunchOptions options;
  options.sync_stages = true;
  REQUIRE(cudaStreamCreate(&options.stream));
  check_result(p, options);
  check_result(Product(Accuracy::standard), options);
  check_capture(p, options);
  check_error(p, options);
  return finish();
}
