// ozfp4_cuda_?gemm: products of matrices on the current device.
#include <algorithm>
#include <stdexcept>
#include <string>

#include "c_api/checked/status.hpp"
#include "c_api/cuda/call.hpp"
#include "c_api/cuda/problem.hpp"
#include "c_api/product/product.hpp"

namespace ozfp4::c_api {
namespace {

void check_aligned(const char* name, const void* data, int bytes) {
  if (reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(bytes) != 0) {
    refuse(std::string(name) + ": its address is not a multiple of " + std::to_string(bytes));
  }
}

// What the runtime says, and what a launch says: errors of the device.
template <class Body>
void on_device(const Body& body) {
  try {
    body();
  } catch (const std::runtime_error& error) {
    refuse(OZFP4_DEVICE_ERROR, error.what());
  }
}

void run(const DeviceCall& call, void* workspace, std::int64_t bytes, void* stream, const ozfp4_options* given) {
  const Options options = read_device_options(given);
  const DeviceProduct product = check(call, options);
  if (bytes < 0) refuse("workspace_bytes: " + std::to_string(bytes) + " is negative");
  const bool is_there = product.m > 0 && product.n > 0, reads = is_there && product.k > 0 && product.alpha != 0.0;
  check_pointer("a", call.a, reads);
  check_pointer("b", call.b, reads);
  check_pointer("c", call.c, is_there);
  check_aligned("a", call.a, call.type.bytes());
  check_aligned("b", call.b, call.type.bytes());
  check_aligned("c", call.c, call.type.bytes());
  if (!is_there) {
    if (options.repaired != nullptr) on_device([&] { tell_of_none(options, static_cast<cudaStream_t>(stream)); });
    return;
  }
  check_pointer("workspace", workspace, true);
  check_aligned("workspace", workspace, 256);
  on_device([&] {
    const auto problem = find_problem(product, options, static_cast<cudaStream_t>(stream));
    if (bytes < problem->places.bytes) {
      refuse(OZFP4_WORKSPACE, "workspace_bytes: " + std::to_string(bytes) + " are fewer than " +
                                  std::to_string(problem->places.bytes) + ", which ozfp4_cuda_workspace_size says");
    }
    launch(*problem, product, options, static_cast<char*>(workspace), static_cast<cudaStream_t>(stream));
  });
}

// At most that of whatever call there is of these extents.
std::int64_t workspace_bytes(const DeviceCall& call, const Options& options) {
  std::int64_t most = 0;
  for (const DeviceCall& own : widest(call)) {
    on_device([&] { most = std::max(most, find_problem(check(own, options), options, nullptr)->places.bytes); });
  }
  return most;
}

constexpr EntryType kS{ElementType::float32, false}, kD{ElementType::float64, false}, kC{ElementType::float32, true},
    kZ{ElementType::float64, true};

}  // namespace
}  // namespace ozfp4::c_api

using namespace ozfp4;
using namespace ozfp4::c_api;  // of the definitions below alone

#define OZFP4_CUDA_GEMM(letter, T, Factor, alpha_of, beta_of, kType)                                                             \
  ozfp4_status ozfp4_cuda_##letter##gemm(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, Factor alpha,       \
                                         const T* a, int64_t lda, const T* b, int64_t ldb, Factor beta, T* c, int64_t ldc,       \
                                         void* workspace, int64_t workspace_bytes, void* stream, const ozfp4_options* options) { \
    return guarded([&] {                                                                                                         \
      c_api::run({kType, order, transa, transb, m, n, k, alpha_of, beta_of, a, b, lda, ldb, c, ldc}, workspace, workspace_bytes, \
                 stream, options);                                                                                               \
    });                                                                                                                          \
  }

#define OZFP4_REAL(name) check_factor(#name, static_cast<double>(name))

extern "C" {

int ozfp4_has_cuda(void) { return 1; }

ozfp4_status ozfp4_cuda_workspace_size(ozfp4_type type, int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                       const ozfp4_options* options, int64_t* bytes) {
  return guarded([&] {
    check_pointer("bytes", bytes, true);
    const EntryType entry = float_type("type", type);
    // As short as they may be.
    const bool has_rows = is_row_major(order);
    const auto leading = [&](const char* name, int transpose, int64_t rows, int64_t columns) {
      return std::max<int64_t>(has_rows != is_transposed(name, transpose) ? columns : rows, 1);
    };
    const DeviceCall call{entry,
                          order,
                          transa,
                          transb,
                          m,
                          n,
                          k,
                          1.0,
                          0.0,
                          nullptr,
                          nullptr,
                          leading("transa", transa, m, k),
                          leading("transb", transb, k, n),
                          nullptr,
                          std::max<int64_t>(has_rows ? n : m, 1)};
    const Options own = read_device_options(options);
    check(call, own);
    *bytes = m > 0 && n > 0 ? workspace_bytes(call, own) : 0;
  });
}

OZFP4_CUDA_GEMM(d, double, double, OZFP4_REAL(alpha), OZFP4_REAL(beta), kD)
OZFP4_CUDA_GEMM(s, float, float, OZFP4_REAL(alpha), OZFP4_REAL(beta), kS)
OZFP4_CUDA_GEMM(z, void, const void*, check_factor("alpha", alpha, kZ), check_factor("beta", beta, kZ), kZ)
OZFP4_CUDA_GEMM(c, void, const void*, check_factor("alpha", alpha, kC), check_factor("beta", beta, kC), kC)

}  // extern "C"
