// ozfp4_cuda_?gemm has the bits of ozfp4_?gemm and of products of integers; its workspace is as large as
// it says, and what is refused leaves C.
#include <ozfp4.h>

#include <algorithm>
#include <complex>
#include <cstdio>
#include <string>

#include "check.hpp"
#include "cuda/gpu.hpp"
#include "cuda_matrices.hpp"

namespace {

std::string number_text(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", x);
  return text;
}

struct Case {
  const Type& type;
  int order, transa, transb;
  std::int64_t m, n, k;
  std::complex<double> alpha, beta;
  int accuracy;
  bool has_bounds = false;
  int rounding = OZFP4_ROUND_NEAREST;
  bool has_specials = false;

  std::string text() const {
    return std::string(type.name) + " " + std::to_string(order) + " " + std::to_string(transa) + " " + std::to_string(transb) +
           " " + std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k) + " alpha " +
           number_text(alpha.real()) + " " + number_text(alpha.imag()) + " beta " + number_text(beta.real()) + " " +
           number_text(beta.imag()) + " accuracy " + std::to_string(accuracy) + (has_bounds ? " bounds" : "") + " rounding " +
           std::to_string(rounding) + (has_specials ? " specials" : "");
  }
};

std::int64_t leading(const Case& own, int transpose, std::int64_t rows, std::int64_t columns, std::int64_t gap) {
  const bool has_rows = (own.order == OZFP4_ROW_MAJOR) == (transpose == OZFP4_NO_TRANS);
  return std::max<std::int64_t>(has_rows ? columns : rows, 1) + gap;
}

template <class Call>
ozfp4_status with_factors(const Case& own, const Call& call) {
  const std::complex<float> alpha(own.alpha), beta(own.beta);
  return own.type.is_double ? call(&own.alpha, &own.beta) : call(&alpha, &beta);
}

// `workspace` of `bytes`; null: on the host.
ozfp4_status multiply(const Case& own, const void* a, std::int64_t lda, const void* b, std::int64_t ldb, void* c,
                      std::int64_t ldc, char* workspace, std::int64_t bytes, const ozfp4_options* options,
                      cudaStream_t stream = nullptr) {
#define OZFP4_CALL(letter, T, alpha, beta)                                                                                       \
  (workspace == nullptr                                                                                                          \
       ? ozfp4_##letter##gemm(own.order, own.transa, own.transb, own.m, own.n, own.k, alpha, static_cast<const T*>(a), lda,      \
                              static_cast<const T*>(b), ldb, beta, static_cast<T*>(c), ldc, options)                             \
       : ozfp4_cuda_##letter##gemm(own.order, own.transa, own.transb, own.m, own.n, own.k, alpha, static_cast<const T*>(a), lda, \
                                   static_cast<const T*>(b), ldb, beta, static_cast<T*>(c), ldc, workspace, bytes, stream,       \
                                   options))
  switch (own.type.type) {
    case OZFP4_FLOAT64: return OZFP4_CALL(d, double, own.alpha.real(), own.beta.real());
    case OZFP4_FLOAT32: return OZFP4_CALL(s, float, static_cast<float>(own.alpha.real()), static_cast<float>(own.beta.real()));
    case OZFP4_COMPLEX128:
      return with_factors(own, [&](const void* alpha, const void* beta) { return OZFP4_CALL(z, void, alpha, beta); });
    default: return with_factors(own, [&](const void* alpha, const void* beta) { return OZFP4_CALL(c, void, alpha, beta); });
  }
#undef OZFP4_CALL
}

ozfp4_status query(const Case& own, const void* a, std::int64_t lda, const void* b, std::int64_t ldb, const void* c,
                   std::int64_t ldc, const ozfp4_options* options, std::int64_t* bytes) {
  const double doubles[] = {own.alpha.real(), own.beta.real()};
  const float singles[] = {static_cast<float>(doubles[0]), static_cast<float>(doubles[1])};
  const auto with = [&](const void* alpha, const void* beta) {
    return ozfp4_cuda_workspace_size_gemm(own.type.type, own.order, own.transa, own.transb, own.m, own.n, own.k, alpha, a, lda, b,
                                          ldb, beta, c, ldc, options, bytes);
  };
  return own.type.is_complex  ? with_factors(own, with)
         : own.type.is_double ? with(&doubles[0], &doubles[1])
                              : with(&singles[0], &singles[1]);
}

void check_case(const Case& own, std::int64_t gap) {
  const std::string name = own.text() + " gap " + std::to_string(gap);
  const std::int64_t lda = leading(own, own.transa, own.m, own.k, gap), ldb = leading(own, own.transb, own.k, own.n, gap);
  const std::int64_t ldc = leading(own, OZFP4_NO_TRANS, own.m, own.n, gap), most = std::max({own.m, own.n, own.k}) + 8;
  Bytes a = numbers(own.type, lda * most, false), b = numbers(own.type, ldb * most, false);
  Bytes c = numbers(own.type, ldc * most, false);
  if (own.beta == 0.0) c = Bytes(c.size(), '\xff');  // NaN
  if (own.has_specials) {
    put_specials(own.type, a);
    put_specials(own.type, b);
    if (own.beta != 0.0) put_specials(own.type, c);
  }
  ozfp4_options options = OZFP4_OPTIONS_INIT;
  options.accuracy = own.accuracy;
  options.rounding = own.rounding;
  const Device on_a(a), on_b(b), on_c(c);
  Bytes bound;
  if (own.has_bounds) {
    options.ld_bound = ldc + 2;
    bound = bounds(own.type, options.ld_bound * most);
  }
  const Device on_bound(bound);
  std::vector<Written> results{{on_c, c}};
  if (own.has_bounds) results.push_back({on_bound, bound});
  const auto at = [&](const char* place) {
    if (own.has_bounds) options.bound = reinterpret_cast<double*>(const_cast<char*>(place));
  };
  at(on_bound.data);
  compare(
      name, [&](std::int64_t* bytes) { return query(own, on_a.data, lda, on_b.data, ldb, on_c.data, ldc, &options, bytes); },
      [&](char* workspace, std::int64_t bytes) {
        return multiply(own, on_a.data, lda, on_b.data, ldb, on_c.data, ldc, workspace, bytes, &options);
      },
      [&] {
        at(bound.data());
        return multiply(own, a.data(), lda, b.data(), ldb, c.data(), ldc, nullptr, 0, &options);
      },
      results);
}

// Every pair of factors of these.
void check_factors(const Type& type) {
  const double tiny = type.is_double ? 0x1p-1000 : 0x1p-120, huge = type.is_double ? 0x1p1000 : 0x1p120;
  const std::complex<double> factors[] = {0.0,        1.0,         -1.0,         {0.0, 1.0},  {0.0, -2.5},
                                          {1.0, 1.0}, {-2.0, 3.0}, {tiny, tiny}, {huge, 0.5}, {0.75, huge}};
  for (const std::complex<double> alpha : factors) {
    for (const std::complex<double> beta : factors) {
      for (const int accuracy : {OZFP4_ACCURACY_SCALED, OZFP4_ACCURACY_STANDARD, OZFP4_ACCURACY_CORRECT}) {
        for (const bool has_specials : {false, true}) {
          check_case({type, OZFP4_ROW_MAJOR, OZFP4_NO_TRANS, OZFP4_NO_TRANS, 33, 19, 21, alpha, beta, accuracy, false,
                      OZFP4_ROUND_NEAREST, has_specials},
                     1);
        }
        check_case({type, OZFP4_COL_MAJOR, OZFP4_CONJ_TRANS, OZFP4_TRANS, 7, 300, 65, alpha, beta, accuracy}, 2);
      }
      check_case({type, OZFP4_COL_MAJOR, OZFP4_NO_TRANS, OZFP4_NO_TRANS, 5, 1, 0, alpha, beta, OZFP4_ACCURACY_CORRECT}, 0);
      check_case({type, OZFP4_ROW_MAJOR, OZFP4_NO_TRANS, OZFP4_NO_TRANS, 0, 4, 3, alpha, beta, OZFP4_ACCURACY_DEFAULT}, 0);
    }
  }
  // Bounds; what is rounded once has a direction too.
  for (const std::complex<double> alpha : factors) {
    for (const int accuracy : {OZFP4_ACCURACY_STANDARD, OZFP4_ACCURACY_CORRECT}) {
      check_case({type,
                  OZFP4_ROW_MAJOR,
                  OZFP4_NO_TRANS,
                  OZFP4_TRANS,
                  21,
                  37,
                  45,
                  alpha,
                  {-2.0, 3.0},
                  accuracy,
                  true,
                  OZFP4_ROUND_NEAREST,
                  true},
                 1);
    }
  }
  const std::complex<double> turns[] = {1.0, {0.0, 1.0}, {0.0, -0.75}};
  for (const std::complex<double> alpha : turns) {
    for (const std::complex<double> beta : turns) {
      for (const int rounding : {OZFP4_ROUND_DOWN, OZFP4_ROUND_UP, OZFP4_ROUND_ZERO}) {
        check_case(
            {type, OZFP4_COL_MAJOR, OZFP4_TRANS, OZFP4_NO_TRANS, 31, 40, 50, alpha, beta, OZFP4_ACCURACY_CORRECT, true, rounding},
            1);
      }
      check_case({type, OZFP4_ROW_MAJOR, OZFP4_TRANS, OZFP4_CONJ_TRANS, 70, 33, 80, alpha, beta, OZFP4_ACCURACY_STANDARD, true},
                 0);
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
  const Case own{type, OZFP4_ROW_MAJOR, OZFP4_NO_TRANS, OZFP4_NO_TRANS, m, n, k, alpha, beta, accuracy};
  const Case nothing{type, OZFP4_ROW_MAJOR, OZFP4_NO_TRANS, OZFP4_NO_TRANS, m, n, k, 0.0, beta, accuracy};
  const std::string name = own.text() + " captured";
  report(name + " workspace", query(own, a_there.data, k, b_there.data, n, c.data, n, &options, &bytes) == OZFP4_OK,
         ozfp4_last_error());
  const Workspace workspace(bytes);
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const auto enqueue = [&](const Case& each) {
    const ozfp4_status status =
        multiply(each, a_there.data, k, b_there.data, n, c.data, n, workspace.memory.data, bytes, &options, stream);
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
    const ozfp4_status size =
        ozfp4_cuda_workspace_size_gemm(OZFP4_COMPLEX128, OZFP4_ROW_MAJOR, OZFP4_NO_TRANS, OZFP4_NO_TRANS, n, n, k, &alpha, a.data,
                                       n, a.data, n, &beta, c.data, n, &options, bytes);
    if (size != OZFP4_OK) return size;
    const Workspace workspace(*bytes);
    return ozfp4_cuda_zgemm(OZFP4_ROW_MAJOR, OZFP4_NO_TRANS, OZFP4_NO_TRANS, n, n, k, &alpha, a.data, n, a.data, n, &beta, c.data,
                            n, workspace.memory.data, *bytes, nullptr, &options);
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
  const ozfp4_status queried =
      ozfp4_cuda_workspace_size_gemm(OZFP4_COMPLEX128, OZFP4_ROW_MAJOR, OZFP4_NO_TRANS, OZFP4_NO_TRANS, m, n, k, &none,
                                     a_there.data, k, b_there.data, n, &both, c_there.data, n, nullptr, &bytes);
  report("no workspace is needed", queried == OZFP4_OK && bytes == 0, ozfp4_last_error());
  const auto on_device = [&](const std::complex<double>& alpha) {
    return ozfp4_cuda_zgemm(OZFP4_ROW_MAJOR, OZFP4_NO_TRANS, OZFP4_NO_TRANS, m, n, k, &alpha, a_there.data, k, b_there.data, n,
                            &both, c_there.data, n, nullptr, 0, nullptr, nullptr);
  };
  report("a workspace is needed",
         on_device(one) == OZFP4_WORKSPACE && std::string(ozfp4_last_error()).find("workspace_bytes: 0 are fewer than") == 0,
         ozfp4_last_error());
  report("it is untouched", c_there.read(c.size()) == c);
  report("without a workspace", on_device(none) == OZFP4_OK, ozfp4_last_error());
  const ozfp4_status here = ozfp4_zgemm(OZFP4_ROW_MAJOR, OZFP4_NO_TRANS, OZFP4_NO_TRANS, m, n, k, &none, a.data(), k, b.data(), n,
                                        &both, c.data(), n, nullptr);
  report("the same without a workspace", here == OZFP4_OK && c_there.read(c.size()) == c);
}

}  // namespace

int main() {
  require_gpu();
  for (const Type& type : kTypes) {
    for (const int order : {OZFP4_ROW_MAJOR, OZFP4_COL_MAJOR}) {
      for (const int transa : {OZFP4_NO_TRANS, OZFP4_TRANS, OZFP4_CONJ_TRANS}) {
        for (const int transb : {OZFP4_NO_TRANS, OZFP4_CONJ_TRANS}) {
          check_case({type, order, transa, transb, 33, 70, 129, 1.0, 0.0, OZFP4_ACCURACY_DEFAULT}, 1);
          check_case({type, order, transa, transb, 64, 5, 40, -0.5, 2.0, OZFP4_ACCURACY_CORRECT}, 0);
        }
      }
    }
    for (const std::int64_t k : {0, 1, 3000}) {
      for (const double alpha : {0.0, 1.0, 3.0}) {
        for (const double beta : {0.0, 1.0, -2.0}) {
          check_case({type, OZFP4_COL_MAJOR, OZFP4_NO_TRANS, OZFP4_TRANS, 130, 67, k, alpha, beta, OZFP4_ACCURACY_SCALED}, 0);
        }
      }
    }
    for (const int accuracy : {OZFP4_ACCURACY_SCALED, OZFP4_ACCURACY_STANDARD, OZFP4_ACCURACY_CORRECT}) {
      for (const double beta : {0.0, 0.5}) {
        check_case({type, OZFP4_COL_MAJOR, OZFP4_NO_TRANS, OZFP4_TRANS, 60, 41, 90, 1.0, beta, accuracy, true}, 1);
        check_case({type, OZFP4_ROW_MAJOR, OZFP4_TRANS, OZFP4_NO_TRANS, 150, 131, 600, 1.0, beta, accuracy, true}, 3);
      }
    }
    check_case({type, OZFP4_ROW_MAJOR, OZFP4_NO_TRANS, OZFP4_NO_TRANS, 0, 5, 7, 1.0, 0.0, OZFP4_ACCURACY_DEFAULT}, 0);
    if (!type.is_complex) continue;
    check_factors(type);
    for (const int accuracy : {OZFP4_ACCURACY_STANDARD, OZFP4_ACCURACY_CORRECT}) check_captured(type, accuracy);
  }
  check_limit();
  check_no_workspace();
  return finish();
}
