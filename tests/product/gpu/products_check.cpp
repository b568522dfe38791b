// Products on a GPU have the bits of those on the CPU.
#include "cuda/gpu.hpp"
#include "product/gpu/enqueue.hpp"
#include "product/gpu/twice.hpp"

using namespace ozfp4;
using namespace ozfp4::product;

namespace {

struct OnDevice {
  static char* allocate(const Bytes& from) {
    char* data = nullptr;
    REQUIRE(cudaMalloc(reinterpret_cast<void**>(&data), from.size() + 1));
    REQUIRE(cudaMemcpy(data, from.data(), from.size(), cudaMemcpyHostToDevice));
    return data;
  }
  static void release(char* data) { cudaFree(data); }
  static Bytes read(const char* data, std::size_t bytes) {
    Bytes found(bytes);
    REQUIRE(cudaDeviceSynchronize());
    REQUIRE(cudaMemcpy(found.data(), data, bytes, cudaMemcpyDeviceToHost));
    return found;
  }
};

void multiply_there(const Product& product, const Options& options) {
  std::int64_t bytes = 0;
  enqueue(product, options, {nullptr, 0, nullptr, &bytes});
  const Both<OnDevice> workspace(Bytes(static_cast<std::size_t>(bytes), static_cast<char>(kPoison)));
  enqueue(product, options, {workspace.there, bytes, nullptr, nullptr});
  REQUIRE(cudaDeviceSynchronize());
}

}  // namespace

int main() {
  require_gpu();
  for (int i = 0; i < 60; ++i) {
    for (const EntryType& type : kTypes) {
      for (const Accuracy accuracy : {Accuracy::scaled, Accuracy::standard, Accuracy::correct}) {
        Check<OnDevice>(type, accuracy, Beside::nothing).run(multiply_there);
        Check<OnDevice>(type, accuracy, Beside::bound).run(multiply_there);
      }
      Check<OnDevice>(type, Accuracy::correct, Beside::upper).run(multiply_there);
    }
  }
  return finish();
}
