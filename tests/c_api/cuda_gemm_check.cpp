// ozfp4_cuda_?gemm and ozfp4_cuda_?gemm_strided_batched have the bits of the functions without "cuda"; their workspace is as
// large as it says, what is refused leaves C, and so does what is written what lies between lines and matrices of C.
#include <ozfp4.h>

#include <algorithm>
#include <complex>
#include <string>

#include "check.hpp"
#include "cuda/gpu.hpp"
#include "cuda_matrices.hpp"

namespace {

struct Case {
  const Type& type;
  int order, transa, transb;
  std::int64_t m, n, k, gap;
  std::complex<double> alpha, beta;
  int accuracy;
  bool has_bounds = false;
  int rounding = OZFP4_ROUND_NEAREST;
  bool has_specials = false;
  std::int64_t stride_a = 0, stride_b = 0, batch = 1;  // strides in matrices: -1, 0, 1
  bool is_batch = false;                               // by the functions of batches

  std::string text() const {
    return text_of(type.name, {order, transa, transb, m, n, k, gap, accuracy, rounding, stride_a, stride_b, batch}) +
           text_of(alpha) + text_of(beta) + (has_bounds ? " bounds" : "") + (has_specials ? " specials" : "");
  }
};

Case batch_of(Case one, std::int64_t stride_a, std::int64_t stride_b, std::int64_t batch) {
  one.stride_a = stride_a, one.stride_b = stride_b, one.batch = batch, one.is_batch = true;
  return one;
}

struct Places {
  const char *a, *b;
  char* c;
  std::int64_t lda, stride_a, ldb, stride_b, ldc, stride_c;
};

// `workspace` of `bytes`; null: on the host.
ozfp4_status multiply(const Case& own, const Places& p, char* workspace, std::int64_t bytes, const ozfp4_options* options,
                      cudaStream_t stream = nullptr) {
#define OZFP4_CALL(letter, T, alpha, beta)                                                                                       \
  const auto *a = reinterpret_cast<const T*>(p.a), *b = reinterpret_cast<const T*>(p.b);                                         \
  auto* c = reinterpret_cast<T*>(p.c);                                                                                           \
  if (own.is_batch && workspace == nullptr) {                                                                                    \
    return ozfp4_##letter##gemm_strided_batched(own.order, own.transa, own.transb, own.m, own.n, own.k, alpha, a, p.lda,         \
                                                p.stride_a, b, p.ldb, p.stride_b, beta, c, p.ldc, p.stride_c, own.batch,         \
                                                options);                                                                        \
  }                                                                                                                              \
  if (own.is_batch) {                                                                                                            \
    return ozfp4_cuda_##letter##gemm_strided_batched(own.order, own.transa, own.transb, own.m, own.n, own.k, alpha, a, p.lda,    \
                                                     p.stride_a, b, p.ldb, p.stride_b, beta, c, p.ldc, p.stride_c, own.batch,    \
                                                     workspace, bytes, stream, options);                                         \
  }                                                                                                                              \
  return workspace == nullptr ? ozfp4_##letter##gemm(own.order, own.transa, own.transb, own.m, own.n, own.k, alpha, a, p.lda, b, \
                                                     p.ldb, beta, c, p.ldc, options)                                             \
                              : ozfp4_cuda_##letter##gemm(own.order, own.transa, own.transb, own.m, own.n, own.k, alpha, a,      \
                                                          p.lda, b, p.ldb, beta, c, p.ldc, workspace, bytes, stream, options);
  const Factor alpha(own.type, own.alpha), beta(own.type, own.beta);
  switch (own.type.type) {
    case OZFP4_FLOAT64: {
      OZFP4_CALL(d, double, alpha.pair.real(), beta.pair.real())
    }
    case OZFP4_FLOAT32: {
      OZFP4_CALL(s, float, alpha.single.real(), beta.single.real())
    }
    case OZFP4_COMPLEX128: {
      OZFP4_CALL(z, void, alpha.at, beta.at)
    }
    default: {
      OZFP4_CALL(c, void, alpha.at, beta.at)
    }
  }
#undef OZFP4_CALL
}

ozfp4_status query(const Case& own, const Places& p, const ozfp4_options* options, std::int64_t* bytes) {
  const Factor alpha(own.type, own.alpha), beta(own.type, own.beta);
  if (!own.is_batch) {
    return ozfp4_cuda_workspace_size_gemm(own.type.type, own.order, own.transa, own.transb, own.m, own.n, own.k, alpha.at, p.a,
                                          p.lda, p.b, p.ldb, beta.at, p.c, p.ldc, options, bytes);
  }
  return ozfp4_cuda_workspace_size_gemm_strided_batched(own.type.type, own.order, own.transa, own.transb, own.m, own.n, own.k,
                                                        alpha.at, p.a, p.lda, p.stride_a, p.b, p.ldb, p.stride_b, beta.at, p.c,
                                                        p.ldc, p.stride_c, own.batch, options, bytes);
}

void check_case(const Case& own) {
  const std::int64_t most = std::max({own.m, own.n, own.k}) + 8, matrices = std::max<std::int64_t>(own.batch, 1);
  const std::int64_t lda = leading_of(own.order, own.transa, own.m, own.k, own.gap);
  const std::int64_t ldb = leading_of(own.order, own.transb, own.k, own.n, own.gap);
  const std::int64_t ldc = leading_of(own.order, kNone, own.m, own.n, own.gap);
  Bytes a = numbers(own.type, lda * most * matrices, false), b = numbers(own.type, ldb * most * matrices, false);
  Bytes c = numbers(own.type, (ldc * most + 5) * matrices, false), bound;
  if (own.beta == 0.0) c = Bytes(c.size(), '\xff');  // NaN
  if (own.has_specials) {
    put_specials(own.type, a);
    put_specials(own.type, b);
    if (own.beta != 0.0) put_specials(own.type, c);
  }
  ozfp4_options options = OZFP4_OPTIONS_INIT;
  options.accuracy = own.accuracy;
  options.rounding = own.rounding;
  if (own.has_bounds) {
    options.ld_bound = ldc + 2;
    options.stride_bound = options.ld_bound * most + 3;
    bound = bounds(own.type, options.stride_bound * matrices);
  }
  const Device on_a(a), on_b(b), on_c(c), on_bound(bound);
  const auto places = [&](const char* of_a, const char* of_b, char* of_c, char* of_bound) {
    if (own.has_bounds) options.bound = reinterpret_cast<double*>(of_bound);
    const std::int64_t stride_a = own.stride_a * lda * most, stride_b = own.stride_b * ldb * most;
    const auto first = [&](const char* data, std::int64_t stride) {
      return stride < 0 ? data - stride * (matrices - 1) * static_cast<std::int64_t>(own.type.bytes) : data;
    };
    return Places{first(of_a, stride_a), first(of_b, stride_b), of_c, lda, stride_a, ldb, stride_b, ldc, ldc * most + 5};
  };
  std::vector<Written> results{{on_c, c}};
  if (own.has_bounds) results.push_back({on_bound, bound});
  const Places there = places(on_a.data, on_b.data, on_c.data, on_bound.data);
  compare(
      own.text(), [&](std::int64_t* bytes) { return query(own, there, &options, bytes); },
      [&](char* workspace, std::int64_t bytes) { return multiply(own, there, workspace, bytes, &options); },
      [&] { return multiply(own, places(a.data(), b.data(), c.data(), bound.data()), nullptr, 0, &options); }, results);
}

// Every pair of factors of these.
void check_factors(const Type& type) {
  const double tiny = type.is_double ? 0x1p-1000 : 0x1p-120, huge = type.is_double ? 0x1p1000 : 0x1p120;
  const std::complex<double> factors[] = {0.0,        1.0,         -1.0,         {0.0, 1.0},  {0.0, -2.5},
                                          {1.0, 1.0}, {-2.0, 3.0}, {tiny, tiny}, {huge, 0.5}, {0.75, huge}};
  for (const std::complex<double> alpha : factors) {
    for (const std::complex<double> beta : factors) {
      for (const int accuracy : kAccuracies) {
        for (const bool has_specials : {false, true}) {
          check_case({type, kRows, kNone, kNone, 33, 19, 21, 1, alpha, beta, accuracy, false, OZFP4_ROUND_NEAREST, has_specials});
        }
        check_case({type, kColumns, kConj, kTrans, 7, 300, 65, 2, alpha, beta, accuracy});
      }
      check_case({type, kColumns, kNone, kNone, 5, 1, 0, 0, alpha, beta, kCorrect});
      check_case({type, kRows, kNone, kNone, 0, 4, 3, 0, alpha, beta, kDefault});
    }
  }
  // Bounds; what is rounded once has a direction too.
  for (const std::complex<double> alpha : factors) {
    for (const int accuracy : {kStandard, kCorrect}) {
      check_case({type, kRows, kNone, kTrans, 21, 37, 45, 1, alpha, {-2.0, 3.0}, accuracy, true, OZFP4_ROUND_NEAREST, true});
    }
  }
  const std::complex<double> turns[] = {1.0, {0.0, 1.0}, {0.0, -0.75}};
  for (const std::complex<double> alpha : turns) {
    for (const std::complex<double> beta : turns) {
      for (const int rounding : {OZFP4_ROUND_DOWN, OZFP4_ROUND_UP, OZFP4_ROUND_ZERO}) {
        check_case({type, kColumns, kTrans, kNone, 31, 40, 50, 1, alpha, beta, kCorrect, true, rounding});
      }
      check_case({type, kRows, kTrans, kConj, 70, 33, 80, 0, alpha, beta, kStandard, true});
    }
  }
}

// A graph of such a product gives the same again; what is told of repairs is theirs, and none where nothing is multiplied.
void check_captured(const Type& type, int accuracy) {
  constexpr std::int64_t m = 40, n = 30, k = 50;
  const std::complex<double> alpha(1, -1), beta(0.5, 2);
  const Bytes a = numbers(type, m * k, false), b = numbers(type, k * n, false), noise = numbers(type, m * n, false);
  const Device a_there(a), b_there(b), c(noise), told(Bytes(8, '\x7f'));
  Bytes here = noise;
  ozfp4_options options = OZFP4_OPTIONS_INIT;
  options.accuracy = accuracy;
  options.repaired = reinterpret_cast<std::int64_t*>(told.data);
  std::int64_t bytes = 0;
  const Case own{type, kRows, kNone, kNone, m, n, k, 0, alpha, beta, accuracy};
  const Case nothing{type, kRows, kNone, kNone, m, n, k, 0, 0.0, beta, accuracy};
  const Places there{a_there.data, b_there.data, c.data, k, 0, n, 0, n, 0};
  const std::string name = own.text() + " captured";
  report(name + " workspace", query(own, there, &options, &bytes) == OZFP4_OK, ozfp4_last_error());
  const Workspace workspace(bytes);
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const auto enqueue = [&](const Case& each) {
    const ozfp4_status status = multiply(each, there, workspace.memory.data, bytes, &options, stream);
    report(name + " status", status == OZFP4_OK, ozfp4_last_error());
  };
  const auto count = [&] {
    std::int64_t found = 0;
    REQUIRE(cudaDeviceSynchronize());
    REQUIRE(cudaMemcpy(&found, told.data, sizeof found, cudaMemcpyDeviceToHost));
    return found;
  };
  enqueue(own);
  const Bytes found = c.read(noise.size());
  report(name + " repairs", count() >= 0 && count() <= 4 * m * n, std::to_string(count()));
  check_replays(name, stream, {c, here}, found, [&] { enqueue(own); });
  enqueue(nothing);
  report(name + " repairs of nothing", count() == 0, std::to_string(count()));
  REQUIRE(cudaStreamDestroy(stream));
}

// Under a limit that A B exceeds, which a factor with both parts keeps, the product is made in blocks, with the same bits; one
// below its smallest block is refused.
void check_limit() {
  constexpr std::int64_t n = 256, k = 16;
  const std::complex<double> alpha(1, 1), beta(1);
  const Bytes x = numbers(kTypes[2], n * n, false);
  const Device a(x);
  const auto run = [&](std::int64_t limit, const Device& c, std::int64_t* bytes) {
    ozfp4_options options = OZFP4_OPTIONS_INIT;
    options.workspace_limit = limit;
    const ozfp4_status size = ozfp4_cuda_workspace_size_gemm(OZFP4_COMPLEX128, kRows, kNone, kNone, n, n, k, &alpha, a.data, n,
                                                             a.data, n, &beta, c.data, n, &options, bytes);
    if (size != OZFP4_OK) return size;
    const Workspace workspace(*bytes);
    return ozfp4_cuda_zgemm(kRows, kNone, kNone, n, n, k, &alpha, a.data, n, a.data, n, &beta, c.data, n, workspace.memory.data,
                            *bytes, nullptr, &options);
  };
  const Device whole(x), cut(x), refused(x);
  std::int64_t of_whole = -1, of_cut = -1, of_none = -1;
  constexpr std::int64_t limit = n * n * 16;  // A B
  report("a product without a limit", run(0, whole, &of_whole) == OZFP4_OK && of_whole > limit, ozfp4_last_error());
  report("in blocks", run(limit, cut, &of_cut) == OZFP4_OK && of_cut <= limit, ozfp4_last_error());
  report("the bits of blocks", cut.read(x.size()) == whole.read(x.size()));
  report("a limit below a block", run(256, refused, &of_none) == OZFP4_WORKSPACE && of_none == -1, ozfp4_last_error());
  report("what the limit is for", std::string(ozfp4_last_error()).find("options.workspace_limit: 256 bytes is too small") == 0,
         ozfp4_last_error());
  report("which leaves C as it was", refused.read(x.size()) == x);
}

// What needs no workspace takes NULL, as the query says; what needs one names it.
void check_no_workspace() {
  constexpr std::int64_t m = 20, n = 30, k = 10;
  const std::complex<double> none(0), one(1), both(1, 2);
  const Bytes a = numbers(kTypes[2], m * k, false), b = numbers(kTypes[2], k * n, false);
  Bytes c = numbers(kTypes[2], m * n, false);
  const Device a_there(a), b_there(b), c_there(c);
  std::int64_t bytes = -1;
  const ozfp4_status queried = ozfp4_cuda_workspace_size_gemm(OZFP4_COMPLEX128, kRows, kNone, kNone, m, n, k, &none, a_there.data,
                                                              k, b_there.data, n, &both, c_there.data, n, nullptr, &bytes);
  report("no workspace is needed", queried == OZFP4_OK && bytes == 0, ozfp4_last_error());
  const auto on_device = [&](const std::complex<double>& alpha) {
    return ozfp4_cuda_zgemm(kRows, kNone, kNone, m, n, k, &alpha, a_there.data, k, b_there.data, n, &both, c_there.data, n,
                            nullptr, 0, nullptr, nullptr);
  };
  report("a workspace is needed",
         on_device(one) == OZFP4_WORKSPACE && std::string(ozfp4_last_error()).find("workspace_bytes: 0 are fewer than") == 0,
         ozfp4_last_error());
  report("it is untouched", c_there.read(c.size()) == c);
  report("without a workspace", on_device(none) == OZFP4_OK, ozfp4_last_error());
  const ozfp4_status here =
      ozfp4_zgemm(kRows, kNone, kNone, m, n, k, &none, a.data(), k, b.data(), n, &both, c.data(), n, nullptr);
  report("the same without a workspace", here == OZFP4_OK && c_there.read(c.size()) == c);
}

void check_refusals() {
  ozfp4_options options = OZFP4_OPTIONS_INIT;
  double* const place = reinterpret_cast<double*>(256);
  const auto status = [&](std::int64_t stride_c, std::int64_t batch) {
    return ozfp4_cuda_dgemm_strided_batched(kRows, kNone, kNone, 2, 2, 2, 1, place, 2, 4, place, 2, 4, 0, place, 2, stride_c,
                                            batch, place, 1 << 20, nullptr, &options);
  };
  report("a stride of C of 0",
         status(0, 2) == OZFP4_INVALID_ARGUMENT && std::string(ozfp4_last_error()).find("stride_c: 0 is less than 1") == 0);
  report("a negative batch",
         status(4, -1) == OZFP4_INVALID_ARGUMENT && std::string(ozfp4_last_error()).find("batch: -1 is negative") == 0);
}

// Tall batches, too, which are one product.
void check_factors_of_batches(const Type& type) {
  const std::complex<double> i(0, 1), both(1, 1), other(-0.75, 2);
  for (const std::complex<double> alpha : {std::complex<double>(0), std::complex<double>(1), i, both, other}) {
    for (const std::complex<double> beta : {std::complex<double>(0), std::complex<double>(-2), i, both, other}) {
      for (const int accuracy : kAccuracies) {
        for (const std::int64_t stride_b : {0, 1}) {
          check_case(batch_of({type, kRows, kNone, kConj, 21, 17, 30, 1, alpha, beta, accuracy}, 1, stride_b, 3));
          check_case(batch_of({type, kColumns, kTrans, kNone, 9, 33, 5, 1, alpha, beta, accuracy}, -1, stride_b, 2));
        }
        check_case(batch_of({type, kRows, kNone, kNone, 4, 3, 0, 1, alpha, beta, accuracy}, 1, 1, 5));
        check_case(batch_of({type, kRows, kNone, kNone, 4, 3, 2, 1, alpha, beta, accuracy}, 1, 1, 0));
      }
    }
  }
}

void check_batches() {
  check_refusals();
  for (const Type& type : kTypes) {
    for (const int order : kOrders) {
      for (const int transa : {kNone, kConj}) {
        for (const int transb : {kNone, kTrans}) {
          check_case(batch_of({type, order, transa, transb, 33, 20, 50, 1, 1.0, 0.0, kDefault}, 1, 1, 5));
          check_case(batch_of({type, order, transa, transb, 17, 70, 300, 1, -3.0, 2.0, kCorrect}, 0, 1, 3));
        }
      }
    }
    for (const std::int64_t stride_a : {-1, 0, 1}) {
      for (const std::int64_t stride_b : {-1, 0, 1}) {
        check_case(batch_of({type, kColumns, kNone, kNone, 40, 64, 2000, 1, 1.0, 0.0, kScaled}, stride_a, stride_b, 4));
        check_case(batch_of({type, kRows, kTrans, kNone, 9, 5, 8, 1, 2.0, 1.0, kDefault}, stride_a, stride_b, 7));
      }
    }
    for (const int accuracy : kAccuracies) {
      for (const std::int64_t stride_b : {0, 1}) {
        check_case(batch_of({type, kColumns, kTrans, kNone, 35, 22, 60, 1, 1.0, 0.0, accuracy, true}, 1, stride_b, 3));
      }
      check_case(batch_of({type, kRows, kNone, kNone, 20, 31, 700, 1, 1.0, 0.0, accuracy, true}, 0, 1, 4));
    }
    if (type.is_complex) check_factors_of_batches(type);
    for (const std::int64_t batch : {0, 1, 2, 300}) {
      for (const std::int64_t k : {0, 1, 16}) {
        check_case(batch_of({type, kRows, kNone, kNone, 8, 8, k, 1, 1.0, 0.5, kDefault}, 1, 1, batch));
      }
    }
  }
}

}  // namespace

int main() {
  require_gpu();
  for (const Type& type : kTypes) {
    for (const int order : kOrders) {
      for (const int transa : kTransposes) {
        for (const int transb : {kNone, kConj}) {
          check_case({type, order, transa, transb, 33, 70, 129, 1, 1.0, 0.0, kDefault});
          check_case({type, order, transa, transb, 64, 5, 40, 0, -0.5, 2.0, kCorrect});
        }
      }
    }
    for (const std::int64_t k : {0, 1, 3000}) {
      for (const double alpha : {0.0, 1.0, 3.0}) {
        for (const double beta : {0.0, 1.0, -2.0}) {
          check_case({type, kColumns, kNone, kTrans, 130, 67, k, 0, alpha, beta, kScaled});
        }
      }
    }
    for (const int accuracy : kAccuracies) {
      for (const double beta : {0.0, 0.5}) {
        check_case({type, kColumns, kNone, kTrans, 60, 41, 90, 1, 1.0, beta, accuracy, true});
        check_case({type, kRows, kTrans, kNone, 150, 131, 600, 3, 1.0, beta, accuracy, true});
      }
    }
    check_case({type, kRows, kNone, kNone, 0, 5, 7, 0, 1.0, 0.0, kDefault});
    if (!type.is_complex) continue;
    check_factors(type);
    for (const int accuracy : {kStandard, kCorrect}) check_captured(type, accuracy);
  }
  check_batches();
  check_limit();
  check_no_workspace();
  return finish();
}
