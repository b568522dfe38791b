// ozfp4_cuda_?gram has the bits of ozfp4_?gram, in one block and in several; what lies between its rows stays.
#include <ozfp4.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "check.hpp"
#include "cuda/gpu.hpp"
#include "cuda_matrices.hpp"

namespace {

struct Case {
  const Type& type;
  int order, transpose;
  std::int64_t n, k, gap;
  int accuracy;
  std::int64_t limit = 0;  // of the workspace; 0: none
};

// `workspace` null: on the host.
ozfp4_status multiply(const Case& own, const char* a, std::int64_t lda, char* c, std::int64_t ldc, char* workspace,
                      std::int64_t bytes, const ozfp4_options* options) {
#define OZFP4_ARGUMENTS(T) \
  own.order, own.transpose, own.n, own.k, reinterpret_cast<const T*>(a), lda, reinterpret_cast<T*>(c), ldc
#define OZFP4_CALL(letter, T)                                               \
  (workspace == nullptr ? ozfp4_##letter##gram(OZFP4_ARGUMENTS(T), options) \
                        : ozfp4_cuda_##letter##gram(OZFP4_ARGUMENTS(T), workspace, bytes, nullptr, options))
  switch (own.type.type) {
    case OZFP4_FLOAT64: return OZFP4_CALL(d, double);
    case OZFP4_FLOAT32: return OZFP4_CALL(s, float);
    case OZFP4_COMPLEX128: return OZFP4_CALL(z, void);
    default: return OZFP4_CALL(c, void);
  }
#undef OZFP4_CALL
#undef OZFP4_ARGUMENTS
}

void check_case(const Case& own, bool has_specials = false) {
  const std::string name = text_of(own.type.name, {own.order, own.transpose, own.n, own.k, own.gap, own.accuracy, own.limit});
  const bool has_rows = (own.order == kRows) == (own.transpose == kNone);
  const std::int64_t lda = leading_of(own.order, own.transpose, own.n, own.k, own.gap);
  const std::int64_t ldc = std::max<std::int64_t>(own.n, 1) + own.gap;
  Bytes a = numbers(own.type, lda * ((has_rows ? own.n : own.k) + 1), false);
  Bytes c = noise(own.type, ldc * (own.n + 1));
  if (has_specials) {  // an infinity in a line, and NaN from it where it meets a zero or another one
    std::memset(a.data(), 0, own.type.bytes);
    const double infinity = 1e308 * 10;
    const float single = static_cast<float>(infinity);
    if (own.type.is_double) std::memcpy(&a[own.type.bytes * 3], &infinity, 8);
    if (!own.type.is_double) std::memcpy(&a[own.type.bytes * 3], &single, 4);
  }
  const Device a_there(a), c_there(c);
  ozfp4_options options = OZFP4_OPTIONS_INIT;
  options.accuracy = own.accuracy;
  options.workspace_limit = own.limit;
  compare(
      name,
      [&](std::int64_t* bytes) {
        return ozfp4_cuda_workspace_size_gram(own.type.type, own.order, own.transpose, own.n, own.k, a_there.data, lda,
                                              c_there.data, ldc, &options, bytes);
      },
      [&](char* workspace, std::int64_t bytes) {
        return multiply(own, a_there.data, lda, c_there.data, ldc, workspace, bytes, &options);
      },
      [&] { return multiply(own, a.data(), lda, c.data(), ldc, nullptr, 0, &options); }, {{c_there, c}});
}

// The same as the whole product on the device, where much is not certified; and what is told of that, of all blocks together.
void check_repairs() {
  constexpr std::int64_t n = 6145, k = 2500, span = 300;
  std::vector<double> x(static_cast<std::size_t>(n * k));
  for (double& entry : x) {
    entry = std::ldexp(static_cast<double>(random_int(-(1 << 30), 1 << 30)) / 3, static_cast<int>(random_int(-span, span)));
  }
  Bytes bytes_of_x(x.size() * sizeof(double));
  std::memcpy(bytes_of_x.data(), x.data(), bytes_of_x.size());
  const Device a_there(bytes_of_x), c_there(Bytes(static_cast<std::size_t>(n * n) * sizeof(double)));
  const auto* a = reinterpret_cast<const double*>(a_there.data);
  auto* c = reinterpret_cast<double*>(c_there.data);
  std::int64_t* told = nullptr;
  REQUIRE(cudaMallocHost(reinterpret_cast<void**>(&told), sizeof *told));
  ozfp4_options options = OZFP4_OPTIONS_INIT;
  options.repaired = told;
  std::int64_t gram_bytes = 0, product_bytes = 0;
  const double one = 1, zero = 0;
  report("repairs workspace",
         ozfp4_cuda_workspace_size_gram(OZFP4_FLOAT64, kRows, kNone, n, k, a, k, c, n, &options, &gram_bytes) == OZFP4_OK &&
             ozfp4_cuda_workspace_size_gemm(OZFP4_FLOAT64, kRows, kNone, kTrans, n, n, k, &one, a, k, a, k, &zero, c, n, &options,
                                            &product_bytes) == OZFP4_OK,
         ozfp4_last_error());
  const Workspace workspace(std::max(gram_bytes, product_bytes));
  const auto found = [&](const char* name, ozfp4_status status) {
    report(name, status == OZFP4_OK, ozfp4_last_error());
    return c_there.read(static_cast<std::size_t>(n * n) * sizeof(double));
  };
  const Bytes whole = found("repairs product", ozfp4_cuda_dgemm(kRows, kNone, kTrans, n, n, k, 1.0, a, k, a, k, 0.0, c, n,
                                                                workspace.memory.data, product_bytes, nullptr, &options));
  const std::int64_t of_whole = *told;
  report("much is not certified", of_whole > n * n / 100, std::to_string(of_whole));
  c_there.write(Bytes(whole.size(), static_cast<char>(kPoison)));
  const Bytes all = found("repairs gram",
                          ozfp4_cuda_dgram(kRows, kNone, n, k, a, k, c, n, workspace.memory.data, gram_bytes, nullptr, &options));
  report("repairs bits", all == whole, difference(all, whole));
  const std::int64_t count = *told;  // of what is multiplied: what lies above the diagonal, and a part of what lies below
  report("repairs told", 2 * count >= of_whole && count < of_whole, std::to_string(count) + " and " + std::to_string(of_whole));
  REQUIRE(cudaFreeHost(told));
}

}  // namespace

int main() {
  require_gpu();
  for (const Type& type : kTypes) {
    const int adjoint = type.is_complex ? kConj : kTrans;
    for (const int order : kOrders) {
      for (const int transpose : {kNone, adjoint}) {
        check_case({type, order, transpose, 70, 33, 1, kDefault});
        check_case({type, order, transpose, 33, 300, 0, kCorrect});
        check_case({type, order, transpose, 7001, 9, 1, kScaled});  // several blocks
        check_case({type, order, transpose, 65, 20, 3, kDefault}, true);
      }
    }
    check_case({type, kRows, kNone, 6200, 40, 0, kDefault}, true);
    // Planes are kept for all blocks, of real types and without a limit.
    for (const int accuracy : kAccuracies) {
      if (type.is_complex) continue;
      check_case({type, kRows, kNone, 6145, 131, 1, accuracy});
      check_case({type, kColumns, kNone, 6210, 64, 0, accuracy}, true);
    }
    check_case({type, kRows, adjoint, 6300, 100, 0, kDefault, std::int64_t(1) << 30});
    for (const std::int64_t n : {0, 1, 5}) {
      for (const std::int64_t k : {0, 1}) check_case({type, kColumns, adjoint, n, k, 0, kDefault});
    }
  }
  check_repairs();
  return finish();
}
