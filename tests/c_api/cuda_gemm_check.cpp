// ozfp4_cuda_?gemm has the bits of ozfp4_?gemm, and of products of integers where no BLAS is here; its workspace is as large as
// it says, and what is refused leaves C.
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
  std::int64_t m, n, k;
  std::complex<double> alpha, beta;
  int accuracy;
  bool has_bounds = false;

  std::string text() const {
    return std::string(type.name) + " " + std::to_string(order) + " " + std::to_string(transa) + " " + std::to_string(transb) +
           " " + std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k) + " alpha " +
           std::to_string(alpha.real()) + " " + std::to_string(alpha.imag()) + " beta " + std::to_string(beta.real()) +
           " accuracy " + std::to_string(accuracy) + (has_bounds ? " bounds" : "");
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
                      std::int64_t ldc, char* workspace, std::int64_t bytes, const ozfp4_options* options) {
#define OZFP4_CALL(letter, T, alpha, beta)                                                                                       \
  (workspace == nullptr                                                                                                          \
       ? ozfp4_##letter##gemm(own.order, own.transa, own.transb, own.m, own.n, own.k, alpha, static_cast<const T*>(a), lda,      \
                              static_cast<const T*>(b), ldb, beta, static_cast<T*>(c), ldc, options)                             \
       : ozfp4_cuda_##letter##gemm(own.order, own.transa, own.transb, own.m, own.n, own.k, alpha, static_cast<const T*>(a), lda, \
                                   static_cast<const T*>(b), ldb, beta, static_cast<T*>(c), ldc, workspace, bytes, nullptr,      \
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

void check_case(const Case& own, std::int64_t gap) {
  const std::string name = own.text() + " gap " + std::to_string(gap);
  const std::int64_t lda = leading(own, own.transa, own.m, own.k, gap), ldb = leading(own, own.transb, own.k, own.n, gap);
  const std::int64_t ldc = leading(own, OZFP4_NO_TRANS, own.m, own.n, gap), most = std::max({own.m, own.n, own.k}) + 8;
  const Bytes a = numbers(own.type, lda * most, false), b = numbers(own.type, ldb * most, false);
  Bytes c = numbers(own.type, ldc * most, false);
  ozfp4_options options = OZFP4_OPTIONS_INIT;
  options.accuracy = own.accuracy;
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
      name,
      [&](std::int64_t* bytes) {
        return ozfp4_cuda_workspace_size(own.type.type, own.order, own.transa, own.transb, own.m, own.n, own.k, &options, bytes);
      },
      [&](char* workspace, std::int64_t bytes) {
        return multiply(own, on_a.data, lda, on_b.data, ldb, on_c.data, ldc, workspace, bytes, &options);
      },
      [&] {
        at(bound.data());
        return multiply(own, a.data(), lda, b.data(), ldb, c.data(), ldc, nullptr, 0, &options);
      },
      results);
}

}  // namespace

int main() {
  require_gpu();
  const std::complex<double> i(0, 1);
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
    for (const int accuracy : {OZFP4_ACCURACY_SCALED, OZFP4_ACCURACY_FP64, OZFP4_ACCURACY_CORRECT}) {
      for (const double beta : {0.0, 0.5}) {
        check_case({type, OZFP4_COL_MAJOR, OZFP4_NO_TRANS, OZFP4_TRANS, 60, 41, 90, 1.0, beta, accuracy, true}, 1);
        check_case({type, OZFP4_ROW_MAJOR, OZFP4_TRANS, OZFP4_NO_TRANS, 150, 131, 600, 1.0, beta, accuracy, true}, 3);
      }
    }
    check_case({type, OZFP4_ROW_MAJOR, OZFP4_NO_TRANS, OZFP4_NO_TRANS, 0, 5, 7, 1.0, 0.0, OZFP4_ACCURACY_DEFAULT}, 0);
    if (type.is_complex) check_case({type, OZFP4_ROW_MAJOR, OZFP4_NO_TRANS, OZFP4_TRANS, 40, 30, 50, i, 1.0, 0}, 1);
  }
  return finish();
}
