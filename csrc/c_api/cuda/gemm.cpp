// ozfp4_cuda_?gemm: products of matrices on the current device.
#include <algorithm>
#include <string>

#include "arith/multiples.hpp"
#include "c_api/checked/status.hpp"
#include "c_api/cuda/problem.hpp"
#include "c_api/product/product.hpp"

namespace ozfp4::c_api {
namespace {

struct Call {
  EntryType type;
  int order, transa, transb;
  std::int64_t m, n, k;
  std::complex<double> alpha, beta;
  const void *a, *b;
  std::int64_t lda, ldb;
  void* c;
  std::int64_t ldc;
};

Options read_device_options(const ozfp4_options* given) {
  const Options options = read_options(given);
  if (options.report != nullptr) refuse(OZFP4_UNSUPPORTED, "options.report: what ran on a GPU is known when it has run");
  if (options.stride_bound != 0) refuse("options.stride_bound: is for batches");
  return options;
}

void check_factors(const Call& call) {
  if (has_both_parts(call.alpha)) {
    refuse(OZFP4_UNSUPPORTED, "alpha: it has a real and an imaginary part; on a GPU one of them is 0");
  }
  if (call.beta.imag() != 0) refuse(OZFP4_UNSUPPORTED, "beta: it has an imaginary part; on a GPU that is 0");
}

// The row-major product; pointers are checked by the functions that read them.
DeviceProduct check(const Call& call, const Options& options) {
  const bool has_rows = is_row_major(call.order);
  is_transposed("transa", call.transa);
  is_transposed("transb", call.transb);
  check_extent("m", call.m);
  check_extent("n", call.n);
  check_extent("k", call.k);
  const std::int64_t entry = call.type.bytes(), line = has_rows ? call.n : call.m, lines = has_rows ? call.m : call.n;
  Operand a = take_operand("a", call.order, call.transa, call.a, call.m, call.k, call.lda, call.type.bytes());
  Operand b = take_operand("b", call.order, call.transb, call.b, call.k, call.n, call.ldb, call.type.bytes());
  a.is_conjugated = a.is_conjugated && call.type.is_complex;
  b.is_conjugated = b.is_conjugated && call.type.is_complex;
  check_leading("ldc", call.ldc, line);
  check_factors(call);
  if (options.bound != nullptr && options.ld_bound != 0 && options.ld_bound != line) {
    refuse(OZFP4_UNSUPPORTED, "options.ld_bound: " + std::to_string(options.ld_bound) + " is not " + std::to_string(line) +
                                  "; bounds on a GPU have no gaps");
  }
  return {call.type,
          lines,
          line,
          call.k,
          has_rows ? a : transposed(b),
          has_rows ? b : transposed(a),
          static_cast<char*>(call.c),
          static_cast<std::ptrdiff_t>(call.ldc * entry),
          call.alpha,
          call.beta,
          options.bound};
}

void check_aligned(const char* name, const void* data, int bytes) {
  if (reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(bytes) != 0) {
    refuse(std::string(name) + ": its address is not a multiple of " + std::to_string(bytes));
  }
}

void run(const Call& call, void* workspace, std::int64_t bytes, void* stream, const ozfp4_options* given) {
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
  if (!is_there) return;
  check_pointer("workspace", workspace, true);
  check_aligned("workspace", workspace, 256);
  const auto problem = find_problem(product, options, static_cast<cudaStream_t>(stream));
  if (bytes < problem->places.bytes) {
    refuse(OZFP4_WORKSPACE, "workspace_bytes: " + std::to_string(bytes) + " are fewer than " +
                                std::to_string(problem->places.bytes) + ", which ozfp4_cuda_workspace_size says");
  }
  try {
    launch(*problem, product, static_cast<char*>(workspace), static_cast<cudaStream_t>(stream));
  } catch (const std::runtime_error& error) {  // LaunchError, and what the runtime says of copies
    refuse(OZFP4_DEVICE_ERROR, error.what());
  }
}

// At most that of whatever factors, leading dimensions and pointers: what lines take depends on whether they are aligned, and an
// operand is copied where alpha is imaginary.
std::int64_t workspace_bytes(const Call& call, const Options& options) {
  struct Factors {
    std::complex<double> alpha, beta;
  };
  constexpr std::complex<double> i(0.0, 2.0);
  const int bytes = call.type.bytes();
  std::int64_t most = 0;
  for (const Factors& factors :
       {Factors{1.0, 0.0}, Factors{2.0, 1.0}, Factors{i, 0.0}, Factors{i, 1.0}, Factors{0.0, 0.0}, Factors{0.0, 1.0}}) {
    if (factors.alpha == i && !call.type.is_complex) continue;
    for (const bool is_aligned_a : {true, false}) {
      for (const bool is_aligned_b : {true, false}) {
        if ((!is_aligned_a || !is_aligned_b) && bytes % 16 == 0) continue;  // all are
        Call own = call;
        const auto place = [bytes](bool is_aligned) {
          return reinterpret_cast<char*>(std::uintptr_t(is_aligned ? 256 : 256 + bytes));
        };
        own.a = place(is_aligned_a);
        own.b = place(is_aligned_b);
        own.c = place(true);
        own.lda = round_up(call.lda, 16) + (is_aligned_a ? 0 : 1);
        own.ldb = round_up(call.ldb, 16) + (is_aligned_b ? 0 : 1);
        own.alpha = factors.alpha;
        own.beta = factors.beta;
        most = std::max(most, find_problem(check(own, options), options, nullptr)->places.bytes);
      }
    }
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
    const Call call{entry,
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
