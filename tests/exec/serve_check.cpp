// A product that is added to C, where memory ends when half of C is written: C is as it was, for the real routine to add to.
#include <complex>
#include <string>
#include <vector>

#include "check.hpp"
#include "exec/line.hpp"
#include "exec/settings.hpp"
#include "exec/serve_cpu.hpp"
#include "ozfp4.h"

namespace {

bool has_memory = true;

// In place of the core's.
template <class T>
ozfp4_status multiply(ozfp4::exec::Type type, int order, int transa, int transb, std::int64_t m, std::int64_t n, std::int64_t k,
                      const void* alpha, const void* a, std::int64_t lda, const void* b, std::int64_t ldb, const void* beta,
                      void* c, std::int64_t ldc) {
  using namespace ozfp4::exec;
  Product product{type, order, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc};
  if (has_memory) {
    multiply_plainly(product);
    return OZFP4_OK;
  }
  for (std::int64_t i = 0; i < (m * n + 1) / 2; ++i) {
    const std::int64_t line = order == row_major ? n : m;
    *reinterpret_cast<T*>(static_cast<char*>(c) + (i / line * ldc + i % line) * static_cast<std::int64_t>(sizeof(T))) = T(77);
  }
  return OZFP4_OUT_OF_MEMORY;
}

}  // namespace

extern "C" {
ozfp4_status ozfp4_dgemm(int order, int ta, int tb, int64_t m, int64_t n, int64_t k, double alpha, const double* a, int64_t lda,
                         const double* b, int64_t ldb, double beta, double* c, int64_t ldc, const ozfp4_options*) {
  return multiply<double>(ozfp4::exec::Type::float64, order, ta, tb, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc);
}
ozfp4_status ozfp4_sgemm(int order, int ta, int tb, int64_t m, int64_t n, int64_t k, float alpha, const float* a, int64_t lda,
                         const float* b, int64_t ldb, float beta, float* c, int64_t ldc, const ozfp4_options*) {
  return multiply<float>(ozfp4::exec::Type::float32, order, ta, tb, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc);
}
ozfp4_status ozfp4_zgemm(int order, int ta, int tb, int64_t m, int64_t n, int64_t k, const void* alpha, const void* a,
                         int64_t lda, const void* b, int64_t ldb, const void* beta, void* c, int64_t ldc, const ozfp4_options*) {
  using Number = std::complex<double>;
  return multiply<Number>(ozfp4::exec::Type::complex128, order, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
ozfp4_status ozfp4_cgemm(int, int, int, int64_t, int64_t, int64_t, const void*, const void*, int64_t, const void*, int64_t,
                         const void*, void*, int64_t, const ozfp4_options*) {
  return OZFP4_INTERNAL;
}
const char* ozfp4_last_error() { return ""; }
}

namespace ozfp4::c_api {
ozfp4_status status_of_exception() noexcept { return OZFP4_INTERNAL; }
}  // namespace ozfp4::c_api

namespace ozfp4::exec {
Reason serve_triangle(const Product&, std::int64_t*) { return Reason::failed; }
}  // namespace ozfp4::exec

using namespace ozfp4::exec;

namespace {

template <class T>
void check(Type type, int order, std::int64_t m, std::int64_t n, double beta_value) {
  constexpr std::int64_t k = 3, gap = 5;
  const std::int64_t ldc = (order == row_major ? n : m) + gap, lines = order == row_major ? m : n;
  std::vector<T> a(static_cast<std::size_t>(m * k)), b(static_cast<std::size_t>(k * n)),
      before(static_cast<std::size_t>(ldc * lines));
  for (std::vector<T>* each : {&a, &b, &before}) {
    for (T& x : *each) x = T(static_cast<float>(random_int(-9, 9)));
  }
  const T alpha = T(2), beta = T(static_cast<float>(beta_value));
  std::vector<T> right = before, found = before;
  const auto product = [&](std::vector<T>& c) {
    const std::int64_t lda = order == row_major ? k : m, ldb = order == row_major ? n : k;
    return Product{type, order, no_transpose, no_transpose, m, n, k, &alpha, a.data(), lda, b.data(), ldb, &beta, c.data(), ldc};
  };
  multiply_plainly(product(right));
  const std::string name = std::to_string(m) + " x " + std::to_string(n) + ", beta " + std::to_string(beta_value);
  std::int64_t repaired = -1;
  has_memory = true;
  report(name, serve(product(found), &repaired) == Reason::none && found == right);
  found = before;
  has_memory = false;
  const Reason how = serve(product(found), &repaired);
  report(name + " without memory", how == Reason::no_memory && (beta_value == 0 || found == before));
}

}  // namespace

int main() {
  for (const int order : {row_major, column_major}) {
    for (const double beta : {0.0, 1.0, -3.0}) {
      check<double>(Type::float64, order, 7, 4, beta);
      check<double>(Type::float64, order, 1, 1, beta);
      check<double>(Type::float64, order, 700, 900, beta);
      check<float>(Type::float32, order, 33, 20, beta);
      check<std::complex<double>>(Type::complex128, order, 12, 31, beta);
    }
  }
  return finish();
}
